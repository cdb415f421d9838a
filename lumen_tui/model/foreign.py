"""What another tool has no place for: kept in the record that it gets, as a mark, so that the way back restores it."""

from __future__ import annotations

Raw = dict[str, object]
MARK = "lumen"  # the key of the mark


def difference(ours: Raw, theirs: Raw) -> Raw:
    """Return for each key in which the two differ `{"here": …, "there": …}`; a side that lacks the key is left out."""
    keys = [key for key in {**ours, **theirs} if key not in ours or key not in theirs or ours[key] != theirs[key]]
    return {key: _sides(key, ours, theirs) for key in keys}


def _sides(key: str, ours: Raw, theirs: Raw) -> Raw:
    return {name: side[key] for name, side in (("here", ours), ("there", theirs)) if key in side}


def restored(theirs: Raw, mark: object) -> Raw:
    """Return our record: what is as it was exported becomes ours again, what was changed there since stays theirs."""
    if not isinstance(mark, dict):
        return theirs
    record = dict(theirs)
    for key, sides in mark.items():
        if not isinstance(sides, dict) or _sides(key, {}, theirs) != _sides(key, {}, _exported(key, sides)):
            continue
        if "here" in sides:
            record[key] = sides["here"]
        else:
            record.pop(key, None)
    return record


def _exported(key: str, sides: Raw) -> Raw:
    return {key: sides["there"]} if "there" in sides else {}
