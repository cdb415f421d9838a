"""Words that carry no meaning of their own in an objective, words that always do, and words with a letter wrong."""

from __future__ import annotations

from collections.abc import Iterable


def words(text: str) -> frozenset[str]:
    """Return the words of `text`."""
    return frozenset(text.split())


COMMON = words(
    "across repo repository codebase a an and any are as at be been being below by can could currently current "
    "descending directory disk find folder for from full get give got had has have having i in inside into is it "
    "its it's itself like list located me my need needs now of off on onto or our out output overall please pls "
    "plz present print recursively report right show shows showing tell that the their them there there's these "
    "they this those thats that's to under us want wanted was we were what whats what's which with within would "
    "you your u all sorted order ordered together including subfolders subdirectories know see seen look at here "
    "here's do does did how hey hi hello thanks thank thx kindly quick quickly just actually really maybe also so "
    "then ok okay somewhere anywhere someone somebody im i'm we're we've i've id i'd could you'd where who whose "
    "when wanna gimme lemme let lets let's check checking according via one ones some see exactly exact roughly "
    "about altogether ever already yet still whether if existing exist exists got come came whole entire complete "
    "given provide display dump answer question wondering wonder curious possible machine server host box system "
    "project repo's tree path paths only"
)
# What turns a question into another one, or asks for something to be done: never taken for a name or a slip.
TURNING = words(
    "january february march april may june july august september october november december monday tuesday "
    "wednesday thursday friday saturday sunday than more less after before since until between during ago again "
    "second previous not no never without except excluding exclude ignore besides unless neither nor other than "
    "apart instead but delete deleting remove removing erase purge wipe drop clean cleanup kill restart reboot "
    "stop start enable disable fix repair mend patch move rename copy send mail email upload download push pull "
    "merge revert reset checkout write create make edit change replace install uninstall upgrade update deploy "
    "run execute translate explain why because reason cause predict will tomorrow next future would should expect "
    "forecast best worst good bad better suspicious weird strange odd interesting important relevant wrong safe "
    "secure healthy slow fast slower faster least fewest rarest seldom average mean median oldest newest password "
    "passwords secret secrets token recommend suggest think opinion improve optimise optimize refactor review "
    "analyse analyze"
)


_LEAST = 5  # letters of a word in which one may be wrong; in shorter ones two neighbours may be swapped


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that `word` is with a letter wrong, missing, too many or swapped; else empty.

    Never one with another first letter, as `fewest` is not `newest`. Of several, the one with the most letters.
    """
    if len(word) < 3 or not word.isalpha():
        return ""
    near = {other for other in known if other[:1] == word[:1] and _one_slip(word, other)}
    if len(word) < _LEAST and word != "wich":
        near = {other for other in near if sorted(other) == sorted(word)}
    longest = [other for other in near if len(other) == max(map(len, near))]
    return longest[0] if len(longest) == 1 else ""


def _one_slip(word: str, other: str) -> bool:
    """Whether the two differ by one letter, or by two neighbours swapped; plurals are other words."""
    if word == other or abs(len(word) - len(other)) > 1 or word.rstrip("s") == other.rstrip("s"):
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    if len(word) == len(other):
        swapped = word[start : start + 2] == other[start : start + 2][::-1] and word[start + 2 :] == other[start + 2 :]
        return word[start + 1 :] == other[start + 1 :] or swapped
    longer, shorter = (word, other) if len(word) > len(other) else (other, word)
    return longer[start + 1 :] == shorter[start:]
