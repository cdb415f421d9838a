"""What a secret looks like: the table of vendors' token formats, and how one is found and masked in a text.

On the path of the hot verbs: `may_hold` is a quick look that nearly every text passes, and only the others meet the
table of rules. It may say yes to a text that holds no secret, and never no to one that does: the tests hold it against
the whole table.
"""

MASKED = "[masked: "  # how every mask begins

_STARTS = tuple(
    b"""
00D 4b1d A3- AAAAAAAAA ABIA ABSK ACCA AGE-SECRE AIza AKCp AKIA AKID API- AQE AQVN ASIA ATATT3 ATBB ATCTT3 ATTA
BBDC- CCIPAT_ CFPAT- CLOJARS_ EAA EZAK EZTK FLWSECK- FLWSECK_T FwoGZXIvY GOCSPX- GOOG GR1348941
HRKU- IGQV IQoJb3JpZ LS0tLS1CR LTAI MII NRAA- NRAK- NRII- NRIQ- NRJS- PMAK-  access-de access-pr access-sa
aio_ ak- api_org_ apify_api as- b3BlbnNza bkua_ cal_live_ cio cmVmdGtuO csk- dG9rO da2- dapi dbtc_ dbtu_
dckr_oat_ dckr_pat_ dnkey- doo_v1_ dop_v1_ dor_v1_ duffel_li duffel_te essu_ eyJ fc- figd_ fio-u- fo1_ fw_ gho_
ghp_ ghr_ ghs_ ghu_ github_pa glagent- glc_ glcbt- gldt- glffct- glft- glimt- gloas- glpat- glptt- glrt- glsa_
glsoat- gsk_ hcaic_ hcaik_ hf_ jina_ lin_api_ lin_oauth lip_ lsv2_pt_ lsv2_sk_ md- mdb_sa_sk napi_ nfp_
npm_ ntn_ nvapi- ops_eyJ oy2 p8e- pa- packagist pat- pcsk_ phx_ pk_ pnb_ pnu_ pplx- pscale_oa pscale_pw pscale_tk
pul- pypi-AgEI pypi-AgEN r8_ rdme_ re_ rk_live_ rk_test_ rnd_ rpa_ rubygems_ rzp_live_ rzp_test_ s-s4t2
sb_secret sbp_ scauth_ sdk- secret- secret_ sgp_ shippo_li shippo_te shpat_ shpca_ shppa_ shpss_ sk- sk_ sm_pat_
sntrys_ey sntryu_ sq0atp- sq0csp- sqa_ sqp_ squ_ tfp_ tgp_v1_ tskey- tvly- vca_ vci_ vck_ vcp_ vcr_ whsec_ xai-
xapp- xkeysib- xoxa- xoxb- xoxc- xoxd- xoxe xoxp- xoxr- xoxs- xsmtpsib-
""".split()
)  # what the words begin with that are tokens
_DOTTED = frozenset(
    b"SG amzn chat dp dt0c01 hooks hvb hvr hvs pat sat sk sl xoxe ya29 discord discordapp".split()
)  # the whole first word of a token that goes on behind a dot
_INSIDE = tuple(
    (
        b"Q~ aceb nfracost :AA :APA91b 1//0 v1.0- +ABa +ACR +AEh +ASb +ASt ACDb AIoT AZDO AZEG AzCa AzFu AzSe NRAL "
        b"FlyV1 T3BlbkFJ .atlasv1. _mmk -us aunch dfuse iscord mailgun .webhook.office.com/ _gitlab_session= "
        b"access_token$ sha256~ sig= hooks.zapier.com Private-Lines"
    ).split()
)  # where a word is long enough to be a token
_ANYWHERE = tuple(
    b"private key|bearer|authorization|_auth|basic |identified|mysql|mariadb|curl|wget|login".split(b"|")
)  # in either case
_NAMES = (b"token", b"key", b"secret", b"pass", b"pwd", b"pswd", b"auth", b"cred", b"hmac", b"licen", b"pat")
_SIGNS = frozenset((b"=", b":", b">", b"|", b"%", b"&", b"+", b"?", b"."))  # what begins a sign, or an escape
_IN_NAMES = b"abcdefghijklmnopqrstuvwxyz0123456789_.-"
_JOINTS = frozenset(b"_.-")
_CLOSING = b" \t\\\"'`]"  # what may be between a name and its sign
_REACH = 160  # characters of a name around the telling word, and of what closes it
_SHORTEST, _KEY_LINE = 14, 60  # characters of the longest word beside a token, and of a line of a private key
_LENGTHS = {b"SK": 34, b"YC": 34, b"pa": 17}  # of tokens with a beginning that many words have
_NEVER = 1 << 30
_LETTERS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _blanking(kept: bytes) -> bytes:
    """Return a table for `translate` that makes blanks of all but these bytes."""
    others = bytes(range(256)).translate(None, kept)
    return bytes.maketrans(others, b" " * len(others))


_SPACES, _NO_BASE64 = _blanking(_LETTERS + b"-_"), _blanking(_LETTERS + b"+/")


_HEADS = {start[:3] for start in _STARTS}


def may_hold(data: bytes) -> bool:
    """Return whether the text must be looked at by the rules. It is ASCII, or UTF-8."""
    if b"\\" in data:
        data = data.replace(b"\\n", b"  ").replace(b"\\t", b"  ").replace(b"\\r", b"  ")
    words = data.translate(_SPACES).split()
    if b"%" in data:
        words += [word[2:] for word in words]
    lower = data.lower()
    return _token(data, words) or _has(lower, _ANYWHERE) or _named(lower) or _password(data)


def telling(name: str) -> bool:
    """Return whether the name of a field may tell that its value is secret."""
    return _has(name.lower().encode("utf-8", "replace"), _NAMES)


def _token(data: bytes, words: list[bytes]) -> bool:
    strange = _HEADS.isdisjoint([word[:3] for word in words])
    if not strange and [word for word in words if word[:3] in _HEADS and word.startswith(_STARTS)]:
        return True
    longest = len(max(words, key=len, default=b""))
    if longest >= _LENGTHS[b"pa"] and [word for word in words if len(word) >= _LENGTHS.get(word[:2], _NEVER)]:
        return True
    if not _DOTTED.isdisjoint(words):
        return True
    if longest < _SHORTEST and b"/" not in data and b"+" not in data:  # which cut base64 into short words
        return False
    if _has(data, _INSIDE):
        return True
    return (longest >= _KEY_LINE or b"/" in data or b"+" in data) and _key_line(data)


def _key_line(data: bytes) -> bool:
    """Return whether there is a run as long as a line of a private key, of base64."""
    runs = data.replace(b'"', b" ").replace(b"\\", b" ").split()
    if len(max(runs, key=len, default=b"")) < _KEY_LINE:
        return False
    lines = [run for run in data.translate(_NO_BASE64).split() if len(run) >= _KEY_LINE]
    return any(line != line.lower() for line in lines)  # a digest has small letters alone


def _password(data: bytes) -> bool:
    """Return whether there may be a password in an address."""
    return b"://" in data and b"@" in data


def _named(lower: bytes) -> bool:
    """Return whether something is given to a name that tells of a secret."""
    return bool([name for name in _NAMES if name in lower and _assigned(lower, name)])


def _has(data: bytes, hints: tuple[bytes, ...]) -> bool:
    return bool([hint for hint in hints if hint in data])  # three times as quick as any() of a generator


def _assigned(lower: bytes, word: bytes) -> bool:
    """Return whether a sign, or the blank behind an option, gives a value to a name that holds the word."""
    place = lower.find(word)
    while place >= 0:
        head, tail = lower[max(0, place - _REACH) : place], lower[place : place + _REACH]
        if b"--" in head or _given(head, tail):
            return True
        place = lower.find(word, place + len(word))
    return False


def _given(head: bytes, tail: bytes) -> bool:
    """Whether the name that ends in `tail` gets a value there. `key` alone tells nothing, and is in many records."""
    behind = tail.lstrip(_IN_NAMES)
    name = head[len(head.rstrip(_IN_NAMES)) :] + tail[: len(tail) - len(behind)]
    sign = behind.lstrip(_CLOSING)[:1]
    if sign == b",":  # in lists of words too: there a name of several words alone is one
        return not _JOINTS.isdisjoint(name)
    return sign in _SIGNS and name != b"key"
