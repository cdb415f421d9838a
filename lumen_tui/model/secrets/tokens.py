"""Secrets that are known by their own form: a rule a line, `name template`, from the vendors' documented formats.

A template is literal text with runs in braces, an alphabet and a length: `{a36}` is 36 or more letters and digits,
`{a=16}` exactly 16, `{a8,10}` from 8 to 10. The alphabets:

    d digits        h lower-case hex     H hex of either case     l lower-case letters and digits
    U upper case    a letters, digits    w letters, digits, _     - letters, digits, _ and -
    b base64        B base32             . letters, digits, _ - . and ~                 u a UUID
    % letters, digits, %

A third word is the keyword that a text must hold, where that is not the beginning of the template.
"""

from __future__ import annotations

TOKENS = """
anthropic-api-key             sk-ant-api{d2}-{-40}
anthropic-admin-key           sk-ant-admin{d2}-{-40}
anthropic-oauth-token         sk-ant-oat{d2}-{-40}
anthropic-refresh-token       sk-ant-ort{d2}-{-40}
anthropic-session-key         sk-ant-sid{d2}-{-40}
openai-project-key            sk-proj-{-20}
openai-service-key            sk-svcacct-{-20}
openai-admin-key              sk-admin-{-20}
openai-key                    sk-{a20}T3BlbkFJ{a20}                                T3BlbkFJ
openrouter-key                sk-or-v1-{h32}
langfuse-secret-key           sk-lf-{u}
groq-key                      gsk_{a20}
xai-key                       xai-{a40}
perplexity-key                pplx-{a40}
cerebras-key                  csk-{l40}
nvidia-key                    nvapi-{-40}
replicate-token               r8_{a37}
fireworks-key                 fw_{a22}
together-key                  tgp_v1_{-40}
elevenlabs-key                sk_{h48}
langsmith-personal-token      lsv2_pt_{h32}_{h10}
langsmith-service-key         lsv2_sk_{h32}_{h10}
pinecone-key                  pcsk_{w40}
voyage-key                    pa-{-=43}
jina-key                      jina_{a40}
tavily-key                    tvly-{-20}
firecrawl-key                 fc-{h=32}
runpod-key                    rpa_{U30}
modal-token-id                ak-{a=22}
modal-token-secret            as-{a=22}
huggingface-token             hf_{a20}
huggingface-org-token         api_org_{a34}
apify-token                   apify_api_{a36}
aws-access-key-id             AKIA{U=16}
aws-temporary-key-id          ASIA{U=16}
aws-service-bearer-id         ABIA{U=16}
aws-context-key-id            ACCA{U=16}
aws-bedrock-key               ABSK{b100}
aws-session-token             FwoGZXIvYXdz{b80}
aws-session-token-2           IQoJb3JpZ2lu{b80}
aws-appsync-key               da2-{l=26}
aws-mws-token                 amzn.mws.{u}
github-pat                    ghp_{a20}
github-oauth-token            gho_{a20}
github-user-token             ghu_{a20}
github-server-token           ghs_{a20}
github-refresh-token          ghr_{a20}
github-fine-grained-pat       github_pat_{w20}
gitlab-pat                    glpat-{-16}
gitlab-deploy-token           gldt-{-16}
gitlab-runner-token           glrt-{-16}
gitlab-runner-registration    GR1348941{-20}
gitlab-ci-job-token           glcbt-{-16}
gitlab-trigger-token          glptt-{-16}
gitlab-feed-token             glft-{-16}
gitlab-mail-token             glimt-{-16}
gitlab-agent-token            glagent-{-40}
gitlab-oauth-secret           gloas-{-40}
gitlab-scim-token             glsoat-{-16}
gitlab-feature-flag-token     glffct-{-16}
gitlab-session                _gitlab_session={h32}
bitbucket-app-password        ATBB{a32}
bitbucket-server-token        BBDC-{b40}
atlassian-api-token           ATATT3{-60}
atlassian-access-token        ATCTT3{-60}
trello-token                  ATTA{h60}
slack-bot-token               xoxb-{-10}
slack-user-token              xoxp-{-10}
slack-workspace-token         xoxa-{-10}
slack-refresh-token           xoxr-{-10}
slack-legacy-token            xoxs-{-10}
slack-client-token            xoxc-{-10}
slack-cookie                  xoxd-{.10}
slack-config-token            xoxe{.10}
slack-app-token               xapp-{-10}
slack-webhook                 hooks.slack.com/services/T{U6}/B{U6}/{a16}
slack-workflow                hooks.slack.com/workflows/T{U8}/A{U8}/{d10}/{a16}
stripe-secret-key             sk_live_{a10}
stripe-test-key               sk_test_{a10}
stripe-restricted-key         rk_live_{a10}
stripe-restricted-test-key    rk_test_{a10}
stripe-org-key                sk_org_{-20}
stripe-webhook-secret         whsec_{b20}
google-api-key                AIza{-30}
google-oauth-token            ya29.{.20}
google-oauth-secret           GOCSPX-{-20}
google-refresh-token          1//0{-30}
google-hmac-key-id            GOOG{U20}
google-chat-webhook           chat.googleapis.com/v1/spaces/{-8}/messages?key={-30}
firebase-server-key           AAAA{-=7}:APA91b{-100}                               :APA91b
azure-client-secret           {.3,5}{d1}Q~{.31}                                    Q~
azure-devops-pat              {a76,90}AZDO{a4}                                     AZDO
azure-functions-key           {-44,60}AzFu{-8}                                     AzFu
azure-search-key              {a42,60}AzSe{a6}                                     AzSe
azure-cache-key               {a33,50}AzCa{b7}                                     AzCa
azure-event-grid-key          {a40,60}AZEG{a4}                                     AZEG
azure-cosmos-key              {b66,90}ACDb{b5}                                     ACDb
azure-iot-key                 {b33,50}AIoT{b5}                                     AIoT
azure-storage-key             {b70,90}+ASt{b5}                                     +ASt
azure-service-bus-key         {b30,50}+ASb{b5}                                     +ASb
azure-event-hub-key           {b30,50}+AEh{b5}                                     +AEh
azure-batch-key               {b70,90}+ABa{b5}                                     +ABa
azure-registry-key            {b40,60}+ACR{b5}                                     +ACR
teams-webhook                 .webhook.office.com/webhookb2/{u}@{u}/IncomingWebhook/{h=32}/{u}
npm-token                     npm_{a30}
pypi-token                    pypi-AgEIcHlwaS5vcmc{-40}
pypi-test-token               pypi-AgENdGVzdC5weXBp{-40}
rubygems-key                  rubygems_{h48}
docker-pat                    dckr_pat_{-20}
docker-org-token              dckr_oat_{-20}
crates-token                  cio{a=32}
nuget-key                     oy2{l=43}
clojars-token                 CLOJARS_{l60}
packagist-token               packagist_{w20}
jfrog-key                     AKCp{a60}
jfrog-reference-token         cmVmdGtuOj{a50}
sonar-user-token              squ_{h40}
sonar-project-token           sqp_{h40}
sonar-global-token            sqa_{h40}
vercel-personal-token         vcp_{a24}
vercel-integration-token      vci_{a24}
vercel-app-token              vca_{a24}
vercel-refresh-token          vcr_{a24}
vercel-gateway-key            vck_{a24}
supabase-token                sbp_{h40}
supabase-secret-key           sb_secret_{-20}
neon-key                      napi_{l60}
planetscale-token             pscale_tkn_{.32}
planetscale-password          pscale_pw_{.32}
planetscale-oauth             pscale_oauth_{.32}
cloudflare-origin-key         v1.0-{h=24}-{h100}
fly-token                     fm{d1}_{b60}                                         FlyV1
fly-oauth-token               fo1_{-40}
render-key                    rnd_{a30}
netlify-token                 nfp_{a36}
heroku-key                    HRKU-{u}
heroku-token                  HRKU-AA{-50}
digitalocean-pat              dop_v1_{h64}
digitalocean-oauth            doo_v1_{h64}
digitalocean-refresh          dor_v1_{h64}
alibaba-access-key            LTAI{a16}
tencent-secret-id             AKID{a30}
yandex-key                    AQVN{-35}
yandex-secret                 YC{-=38}
databricks-token              dapi{h32}
dbt-token                     dbtc_{-30}
dbt-user-token                dbtu_{-30}
mongodb-service-secret        mdb_sa_sk_{-30}
elastic-key                   essu_{b40}
grafana-service-token         glsa_{a32}_{H8}
grafana-cloud-token           glc_{b32}
grafana-key                   eyJrIjoi{b40}
newrelic-user-key             NRAK-{U=27}
newrelic-insert-key           NRII-{-32}
newrelic-query-key            NRIQ-{-32}
newrelic-admin-key            NRAA-{h27}
newrelic-browser-key          NRJS-{h=19}
newrelic-licence-key          {h36,40}NRAL                                         NRAL
sentry-org-token              sntrys_eyJ{b60}
sentry-user-token             sntryu_{h64}
dynatrace-token               dt0c01.{U24}.{U64}
honeycomb-ingest-key          hcaik_{l50}
honeycomb-classic-key         hcaic_{l50}
posthog-personal-key          phx_{a30}
sourcegraph-access-token      sgp_{H16}_{H40}
sourcegraph-local-token       sgp_local_{H40}
segment-token                 sgp_{a40}
launchdarkly-sdk-key          sdk-{u}
launchdarkly-api-key          api-{u}                                              aunch
statsig-secret                secret-{a=43}
twilio-api-key                SK{h=32}
sendgrid-key                  SG.{-16}.{-30}
mailgun-key                   key-{h=32}                                           mailgun
mailgun-signed-key            {h=32}-{h=8}-{h=8}                                   mailgun
mailchimp-key                 {h=32}-us{d1,2}                                      -us
resend-key                    re_{a8}_{a16}
brevo-key                     xkeysib-{h40}-{a12}
brevo-smtp-key                xsmtpsib-{h40}-{a12}
mandrill-key                  md-{-=22}
intercom-token                dG9rO{b40}
hubspot-token                 pat-na{d1}-{u}
hubspot-eu-token              pat-eu{d1}-{u}
salesforce-session            00D{a12,15}!{.60}                                    00D
shopify-access-token          shpat_{H32}
shopify-app-token             shpca_{H32}
shopify-partner-token         shppa_{H32}
shopify-shared-secret         shpss_{H32}
square-access-token           EAAA{-=60}
square-token                  sq0atp-{-22}
square-secret                 sq0csp-{-40}
braintree-token               access_token$production${l16}${h32}
adyen-key                     AQE{a5}{b100}
plaid-token                   access-production-{u}
plaid-sandbox-token           access-sandbox-{u}
plaid-development-token       access-development-{u}
razorpay-live-key             rzp_live_{a14}
razorpay-test-key             rzp_test_{a14}
flutterwave-key               FLWSECK-{l32}
flutterwave-test-key          FLWSECK_TEST-{a12}
telegram-bot-token            {d8,10}:AA{-32}                                      :AA
discord-bot-token             {a24,28}.{-=6}.{-27}                                 iscord
discord-webhook               discord.com/api/webhooks/{d15}/{-60}
discord-webhook-old           discordapp.com/api/webhooks/{d15}/{-60}
facebook-token                EAA{a80}
facebook-app-token            {d15,17}|{-=27}                                      aceb
twitter-bearer                AAAAAAAAAAAAAAAAAAAAA{%80}
instagram-token               IGQV{-60}
dropbox-token                 sl.{-100}
linear-key                    lin_api_{a32}
linear-oauth                  lin_oauth_{h40}
notion-token                  ntn_{a40}
notion-secret                 secret_{a=43}
airtable-pat                  pat{a=14}.{h=64}
clickup-token                 pk_{d6,9}_{U30}
figma-token                   figd_{-38}
typeform-token                tfp_{.40}
contentful-token              CFPAT-{-40}
calcom-key                    cal_live_{h32}
onepassword-service-token     ops_eyJ{b60}
onepassword-secret-key        A3-{U=6}-{U6,11}-{U=5}-{U=5}
doppler-token                 dp.pt.{a40}
doppler-cli-token             dp.ct.{a40}
doppler-service-token         dp.st.{.40}
doppler-account-token         dp.sa.{a40}
doppler-scim-token            dp.scim.{a40}
doppler-audit-token           dp.audit.{a40}
vault-service-token           hvs.{-24}
vault-batch-token             hvb.{-60}
vault-recovery-token          hvr.{-24}
terraform-token               {a=14}.atlasv1.{-60}                                 .atlasv1.
pulumi-token                  pul-{h40}
age-secret-key                AGE-SECRET-KEY-1{U50}
tailscale-key                 tskey-{l3,8}-{-20}
duffel-token                  duffel_live_{-40}
duffel-test-token             duffel_test_{-40}
easypost-key                  EZAK{a50}
easypost-test-key             EZTK{a50}
shippo-key                    shippo_live_{h40}
shippo-test-key               shippo_test_{h40}
frameio-token                 fio-u-{-60}
readme-key                    rdme_{l60}
postman-key                   PMAK-{h24}-{h34}
buildkite-token               bkua_{h40}
circleci-token                CCIPAT_{a20}_{h40}
prefect-key                   pnu_{a36}
prefect-service-key           pnb_{a36}
openshift-token               sha256~{-=43}
mapbox-secret-token           sk.eyJ{-40}.{-20}
maxmind-key                   {a=6}_{a=29}_mmk                                     _mmk
octopus-key                   API-{U=26}
defined-networking-key        dnkey-{-20}-{-40}
adafruit-key                  aio_{a=28}
authress-key                  scauth_{l5,30}.{l4,6}.acc_{-10}.{.30}
adobe-client-secret           p8e-{a=32}
clickhouse-secret             4b1d{a=38}
dfuse-key                     web_{h=32}                                           dfuse
lichess-token                 lip_{a=20}
infracost-key                 ico-{a=32}                                           nfracost
settlemint-token              sm_pat_{a16}
intra42-secret                s-s4t2{l2}-{h64}
harness-token                 pat.{-=22}.{h=24}.{a=20}
harness-service-token         sat.{-=22}.{h=24}.{a=20}
"""
