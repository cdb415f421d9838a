"""The tables of secrets made usable: templates turned into patterns, compiled when a text first holds a keyword.

`ASSIGNED` has those that are known by the name they are given to: a rule a line, `name word[,word] alphabet+length
...`. `datadog-key  datadog,dd_  h32 h40` is 32 or 40 hex digits (exactly) behind a name such as DD_API_KEY, which holds
one of the words and says token, key, secret or the like as well. The alphabets are those of `tokens`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.secrets.tokens import TOKENS

ASSIGNED = """
aws-secret-access-key        aws,amazon,secret_access_key,secretaccesskey  b40
azure-account-key            accountkey,account_key,azure,sharedaccesskey,shared_access_key   b44 b86 b88
datadog-key                  datadog,dd_,ddog         h32 h40
algolia-key                  algolia                  l32
twilio-auth-token            twilio                   h32
cloudflare-token             cloudflare,cf_           -40 -37 h37 h45
heroku-api-key               heroku                   u
linode-token                 linode                   h64
vultr-key                    vultr                    U36
hetzner-token                hetzner,hcloud           a64
scaleway-secret              scaleway,scw             u
ibm-cloud-key                ibm                      -44
railway-token                railway                  u
upstash-token                upstash                  -56 b60
confluent-secret             confluent                b64
confluent-key                confluent                a16
splunk-token                 splunk                   u
sumologic-key                sumo                     a64
pagerduty-key                pagerduty,pd_            -20 h32
opsgenie-key                 opsgenie                 u
mixpanel-secret              mixpanel                 h32
amplitude-secret             amplitude                h32
rollbar-token                rollbar                  h32
bugsnag-key                  bugsnag                  h32
cohere-key                   cohere                   a40
mistral-key                  mistral                  a32
deepseek-key                 deepseek                 -35
assemblyai-key               assemblyai               h32
wandb-key                    wandb                    h40
comet-key                    comet                    a25
exa-key                      exa_                     u
weaviate-key                 weaviate                 a40
postmark-token               postmark                 u
sparkpost-key                sparkpost                h40
mailjet-key                  mailjet,mj_              h32
messagebird-key              messagebird              a25
vonage-secret                vonage,nexmo             a16
plivo-token                  plivo                    b40
zendesk-secret               zendesk                  a40
freshdesk-key                freshdesk                a20
fastly-token                 fastly                   -32
etsy-key                     etsy                     l24
shutterstock-token           shutterstock             -60
paypal-secret                paypal                   -80
adyen-hmac-key               adyen                    H64
coinbase-secret              coinbase                 -64
binance-secret               binance                  a64
kraken-secret                kraken                   b80 b88
kucoin-key                   kucoin                   h24 u
bittrex-key                  bittrex                  l32
etherscan-key                etherscan                U34
infura-key                   infura                   h32
alchemy-key                  alchemy                  -32
finicity-secret              finicity                 a20 h32
finnhub-key                  finnhub                  l20
lob-key                      lob_                     -40
gocardless-token             gocardless               -45
squarespace-token            squarespace              u
twitch-secret                twitch                   l30
spotify-secret               spotify                  h32
twitter-secret               twitter                  a25 a45 a50
linkedin-secret              linkedin                 a14 a16
facebook-secret              facebook,fb_             h32
dropbox-secret               dropbox                  l15
box-secret                   box_                     a32
asana-secret                 asana                    a32
gitter-token                 gitter                   h40
jira-token                   jira,atlassian,confluence  a24
bitbucket-secret             bitbucket                -64 a32
okta-token                   okta                     -42
auth0-secret                 auth0                    -64
ngrok-token                  ngrok                    -49 a43
netlify-legacy-token         netlify                  -43
circleci-legacy-token        circleci,circle_         h40
travis-token                 travis                   a22
drone-token                  drone                    a32
codecov-token                codecov                  u a32
coveralls-token              coveralls                a33
snyk-token                   snyk                     u
sourcegraph-token            sourcegraph              h40
consul-token                 consul                   u
nomad-token                  nomad                    u
vault-legacy-token           vault                    .26
kubernetes-bootstrap-token   kubeadm,bootstrap_token  .23
meraki-key                   meraki                   h40
mattermost-token             mattermost               l26
rocketchat-token             rocket                   -43
zoom-secret                  zoom                     a32
webex-token                  webex                    .106
line-token                   line_                    b172
wechat-secret                wechat                   h32
lark-secret                  lark,feishu              a32
dingtalk-secret              dingtalk                 .67
rapidapi-key                 rapidapi                 a50
newsapi-key                  newsapi                  h32
nytimes-key                  nytimes,nyt_             a32
openweather-key              openweather,owm          h32
mapquest-key                 mapquest                 a32
here-key                     here_                    -43
flickr-key                   flickr                   h32
lastfm-key                   lastfm                   h32
giphy-key                    giphy                    a32
unsplash-key                 unsplash                 -43
contentful-key               contentful               -43
sanity-token                 sanity                   a180
storyblok-token              storyblok                a24
yahoo-secret                 yahoo                    h40
gravatar-key                 akismet                  h12
pushover-token               pushover                 a30
pushbullet-token             pushbullet               .34
ifttt-key                    ifttt                    -22 -43
loggly-token                 loggly                   u
logdna-key                   logdna,mezmo             h32
papertrail-token             papertrail               a20
scalingo-token               scalingo                 -48
sendbird-token               sendbird                 h40 u
launchdarkly-token           launchdarkly             -40
snowflake-password           snowflake                .12
docker-auth                  docker,dockerhub         u
beamer-key                   beamer                   .46
sidekiq-secret               sidekiq,bundle_          h17
harvest-token                harvest                  .97
clearbit-key                 clearbit                 -35
hunter-key                   hunter                   h40
shodan-key                   shodan                   a32
virustotal-key               virustotal,vt_           h64
censys-secret                censys                   a32
abuseipdb-key                abuseipdb                h80
"""

ALPHABETS = {
    "d": "0-9", "h": "0-9a-f", "H": "0-9A-Fa-f", "l": "a-z0-9", "U": "A-Z0-9", "a": "A-Za-z0-9", "w": "A-Za-z0-9_",
    "-": "A-Za-z0-9_-", "b": "A-Za-z0-9+/=", "B": "A-Z2-7", ".": "A-Za-z0-9_.~-",
    "%": "A-Za-z0-9%",
}  # fmt: skip
UUID = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# A token begins where no word goes on: behind an escape or a percent code of other text one may begin as well.
BEGINS = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_RUN = lazy_re(r"\{(?:(u)|([dhHlUaw\-bB.%])(=?)(\d+)(?:,(\d+))?)\}")
_WEAK = 3  # characters of a beginning that other words share


class Rule(NamedTuple):
    """One form of a token."""

    name: str
    keyword: str  # what a text must hold for it
    template: str

    @property
    def weak(self) -> bool:
        """Whether its beginning is so short that what follows must look random."""
        return len(self.template.partition("{")[0]) <= _WEAK


class Named(NamedTuple):
    """One form of a value behind a name."""

    name: str
    words: tuple[str, ...]  # one of which the name holds
    form: re.Pattern[str]


def _run(match: re.Match[str]) -> str:
    uuid, alphabet, exact, least, most = match.groups()
    if uuid:
        return UUID
    letters = ALPHABETS[alphabet]
    if most or least == "1":
        return f"[{letters}]{{{least},{most or least}}}"
    ends = f"(?![{letters}])" if exact and match.end() == len(match.string) else ""
    return f"[{letters}]{{{least}}}{ends}" if exact else f"[{letters}]{{{least},}}"


def pattern(template: str) -> str:
    """Return the regular expression of a template."""
    parts, end = [], 0
    for match in _RUN.finditer(template):
        parts += [re.escape(template[end : match.start()]), _run(match)]
        end = match.end()
    return "".join((*parts, re.escape(template[end:])))


@lru_cache(None)
def token_rules() -> tuple[Rule, ...]:
    """Return the rules of `TOKENS`."""
    rows = (line.split() for line in TOKENS.strip().splitlines())
    return tuple(Rule(row[0], row[2] if len(row) > 2 else row[1].partition("{")[0], row[1]) for row in rows)


@lru_cache(None)
def compiled(rule: Rule) -> re.Pattern[str]:
    """Return where a token of this rule is."""
    return re.compile(BEGINS + pattern(rule.template))


@lru_cache(None)
def named_rules() -> tuple[Named, ...]:
    """Return the rules of `ASSIGNED`."""
    rules = []
    for line in ASSIGNED.strip().splitlines():
        name, words, *forms = line.split()
        shapes = "|".join(UUID if form == "u" else f"[{ALPHABETS[form[0]]}]{{{form[1:]}}}" for form in forms)
        rules.append(Named(name, tuple(words.split(",")), re.compile(shapes, re.IGNORECASE)))
    return tuple(rules)
