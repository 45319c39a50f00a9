# ruff: noqa: E501  (a pattern broken into pieces is harder to check than a long one)
"""The patterns of the screens, as data. Each is (what it finds, pattern); every repetition is bounded."""

from __future__ import annotations

import re

Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def _patterns(*pairs: tuple[str, str], flags: int = 0) -> Patterns:
    return tuple((what, re.compile(pattern, flags)) for what, pattern in pairs)


SECRETS = _patterns(
    ("a private key", r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ("an AWS key id", r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{30,255})\b"),
    ("a GitLab token", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_-]{20,200}"),
    ("an API key of the sk- kind", r"\bsk-(?:[a-z]{2,12}-){0,3}(?:v1-)?[A-Za-z0-9_-]{20,200}"),
    ("a Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("a Google OAuth token", r"\bya29\.[A-Za-z0-9_-]{20,300}|\bGOCSPX-[A-Za-z0-9_-]{20,60}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,200}|\bxapp-\d-[A-Za-z0-9-]{20,200}"),
    ("a webhook URL", r"https://(?:hooks\.slack\.com/(?:services|workflows)/|discord(?:app)?\.com/api/webhooks/)\S{20,200}"),
    ("a Stripe key", r"\b(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,200}\b"),
    ("a Twilio key", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    ("a SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,60}"),
    ("a package registry token", r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,300}"),
    ("a Hugging Face token", r"\bhf_[A-Za-z0-9]{30,60}\b"),
    ("a JSON web token", r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
    ("a Telegram bot token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,36}\b"),
    ("a cloud or service token",
     r"\b(?:dop_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{32,60}"
     r"|ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{40,60}|r8_[A-Za-z0-9]{30,50}|gsk_[A-Za-z0-9]{40,60}"
     r"|xai-[A-Za-z0-9]{60,100}|pplx-[A-Za-z0-9]{40,60}|tvly-[A-Za-z0-9_-]{20,60}|key-[0-9a-f]{32}"
     r"|AGE-SECRET-KEY-1[A-Z0-9]{50,60}|LTAI[A-Za-z0-9]{12,24}|AKID[A-Za-z0-9]{32})\b"),
    ("a storage account key", r"\bAccountKey=[A-Za-z0-9+/=]{40,120}"),
    ("a URL with a password", r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@<>{}$]{1,100}:[^\s/@<>{}$]{3,200}@"),
    ("a bearer token", r"(?i)\bbearer\s{1,4}[A-Za-z0-9_.~+/-]{24,2000}={0,2}"),
)  # fmt: skip

SECRET_ASSIGNMENT = re.compile(
    r"(?i)(?P<key>\b(?:[a-z0-9_-]{0,40}[_-])?(?:api[ _-]?key|apikey|access[ _-]?key|secret(?:[ _-]?key)?|client[ _-]?secret"
    r"|password|passwd|passphrase|pwd|auth[ _-]?token|access[ _-]?token|token|pin)|密码|口令|密钥|パスワード|비밀번호)"
    r"[\"'`]?\s{0,4}(?:[:=：]|:=|=>|\bis\b|是|为|は)\s{0,4}[\"'`]?(?P<value>[^\s\"'`,;，。）)]{8,200})"
)
PLACEHOLDER = re.compile(
    r"(?i)^[<\[{$%(]|\$\{|\{\{|\.\.\.|…|\*{3,}|x{4,}|your[_ -]|my[_ -]?(?:secret|pass|token|key)|example|placeholder"
    r"|change[_ -]?me|redacted|dummy|sample|<[a-z_ -]+>|os\.environ|getenv|process\.env|secrets?\.|vault"
)

INJECTION = _patterns(
    ("it sets aside earlier instructions",
     r"\b(?:ignor(?:e|ing)|disregard|forget|bypass|override|do not follow|don't follow|stop following)\b[^.;!?]{0,25}"
     r"\b(?:previous|prior|above|earlier|preceding|existing|all|any|your|system|safety|developer)\b[^.;!?]{0,25}"
     r"\b(?:instructions?|prompts?|rules?|guidelines?|directions?|polic(?:y|ies)|guardrails?|safeguards?|restrictions?)\b"),
    ("it makes the agent somebody else",
     r"\b(?:you are now|from now on,? you are|act as|pretend to be|enter|switch to)\b.{0,30}"
     r"\b(?:DAN|jailbroken|unrestricted|unfiltered|uncensored|developer mode|god mode|root mode|admin mode)\b"),
    ("it hides something from the person",
     r"\b(?:do not|don't|never|without)\s(?:\w+\s){0,3}?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?"
     r"|notify(?:ing)?|alert(?:ing)?|disclos(?:e|ing))\b.{0,30}\b(?:the )?(?:user|person|human|owner|operator)s?\b"
     r"|\b(?:hide|conceal|keep)\b.{0,40}\bfrom the (?:user|person|human|owner)\b|\bsecretly\b"),
    ("it asks for the system prompt",
     r"\b(?:reveal|print|output|repeat|leak|show|dump)\b.{0,30}\b(?:system|hidden|developer|initial) (?:prompt|message|instructions?)\b"),
    ("it carries chat control tokens",
     r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>|\[/?INST\]|<<SYS>>"
     r"|</?(?:system|system-reminder|developer|assistant|human|function_calls|tool_call|tool_result|skill)\b[^>]{0,60}>"
     r"|(?:^|\s)(?:###\s*)?(?:SYSTEM|System) ?(?:prompt|message|override)?\s?:\s?(?:you|ignore|from now)"),
    ("it claims the maker's or an administrator's authority",
     r"\b(?:as|message from|by order of|authori[sz]ed by|on behalf of)\b.{0,20}"
     r"\b(?:Anthropic|OpenAI|the system administrator|your (?:developers?|creators?|makers?))\b"),
    ("it sets aside earlier instructions",
     r"(?:忽略|无视|無視|不要理会|忘记|忘掉|绕过).{0,12}(?:之前|以上|前面|上面|先前|所有|原有|系统|任何).{0,8}"
     r"(?:指令|指示|规则|規則|提示|要求|限制|命令)"
     r"|(?:以前|これまで|上記|前|すべて|全て|システム)の.{0,6}(?:指示|命令|ルール|プロンプト|制限).{0,6}(?:無視|忘れ|破棄)"
     r"|(?:이전|위의|앞의|모든|기존|시스템).{0,6}(?:지시|명령|규칙|프롬프트|제한).{0,8}(?:무시|잊)"),
    ("it sets aside earlier instructions",
     r"\b(?:ignor(?:a|e|ez|er|ar|iere|ieren|iert)|olvida|oublie[zr]?|vergiss|vergesst|missachte|desconsidere|esque[cç]a)\b.{0,40}"
     r"\b(?:instrucciones|instructions|instru[cç][oõ]es|istruzioni|anweisungen|regeln|reglas|r[eè]gles|regras|regole|consignes)\b"
     r"|(?:игнорируй|забудь|не обращай внимания).{0,40}(?:инструкци|правил|указани)"),
    ("it hides something from the person",
     r"(?:不要|别|勿|切勿|不得).{0,4}(?:告诉|告知|通知|透露|提示).{0,4}(?:用户|使用者|主人|对方)|瞒着(?:用户|使用者)"
     r"|(?:ユーザー|利用者)に.{0,6}(?:知らせ|言わ|伝え|教え|通知し)ない|(?:사용자|유저)에게.{0,6}(?:알리지|말하지|보여주지)"
     r"|\b(?:no (?:le )?(?:digas|informes)|ne (?:dis|dites|pr[eé]viens) (?:rien|pas)|sag(?:e)? (?:dem|es dem)).{0,20}"
     r"\b(?:usuario|utilisateur|nutzer|benutzer) ?(?:nicht)?"),
    flags=re.IGNORECASE,
)  # fmt: skip

PERMISSION = _patterns(
    ("it skips the agent's permission checks",
     r"dangerously[-_]skip[-_]permissions|--yolo\b|bypass[-_ ]?permissions|--full-auto\b|danger-full-access"
     r"|--dangerously-bypass\S{0,60}|approval[_-]policy\W{0,4}never|skip[-_]confirmations?\b|auto[-_ ]?approve\b"
     r"|permission[-_ ]?mode\W{0,4}(?:acceptEdits|bypass\w{0,20})"),
    ("it acts without the person's yes",
     r"\b(?:without|no need (?:to|for)|never|don't|do not|skip)\b.{0,24}\b(?:ask(?:ing)?|confirm(?:ation|ing)?|approv(?:al|ing)"
     r"|permission|consent|review)\b.{0,40}\b(?:run|execute|delete|install|send|push|deploy|overwrite|pay|transfer|commands?)\b"
     r"|(?<!not )(?<!never )(?<!n't )\b(?:run|execute|delete|install|send|push|deploy|overwrite|pay|transfer)\w{0,4}\b[^.;!?]{0,40}\bwithout\b.{0,16}"
     r"\b(?:asking|confirmation|confirming|approval|permission|consent)\b"),
    ("it acts without the person's yes",
     r"(?:无需|不用|不必|不需要|无须|跳过).{0,8}(?:确认|同意|批准|许可|询问|授权)"
     r"|(?:確認|許可|承認|同意)(?:を取らず|なし|は不要|せず|を求めず)|(?:확인|승인|허락|동의)\s?(?:없이|불필요)"),
    ("it grants access",
     r"\b(?:you (?:have|now have|are granted)|grant(?:s|ed)?|give(?:s|n)?|allow(?:s|ed)?)\b.{0,24}"
     r"\b(?:full|unrestricted|unlimited|root|admin(?:istrator)?|sudo|all)\b.{0,16}\b(?:access|permissions?|privileges?|rights)\b"),
    ("it switches protection off",
     r"\b(?:disable|turn off|deactivate|stop|kill|switch off)\b.{0,20}\b(?:the )?(?:sandbox|firewall|antivirus|selinux|apparmor"
     r"|gatekeeper|defender|guardrails?|audit(?:ing)?|security checks?)\b|\bsetenforce 0\b|NODE_TLS_REJECT_UNAUTHORIZED\W{0,4}0"),
    ("it widens file permissions", r"\bchmod\s(?:-\w{1,4}\s)?(?:0?777|a\+rwx|u\+s|[24]7\d\d)\b|\bNOPASSWD\b|/etc/sudoers"),
    flags=re.IGNORECASE,
)  # fmt: skip

_FETCH = r"(?:curl|wget|fetch|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod)"
_RUN = r"(?:sudo\s{1,4}(?:-\w{1,4}\s{1,4})?)?(?:env\s{1,4})?(?:/(?:usr/)?bin/)?(?:ba|z|da|fi|k|c)?sh\b|(?:sudo\s{1,4})?(?:python|node|perl|ruby|php|deno|bun)[\d.]{0,4}\b"
HARM = _patterns(
    ("fetches and runs a program", rf"\b{_FETCH}\b[^|]{{0,400}}\|\s{{0,4}}(?:tee\s\S{{1,100}}\s?\|\s?)?(?:{_RUN}|iex\b|invoke-expression)"),
    ("fetches and runs a program", rf"(?:\b(?:bash|sh|zsh|source|python\d?)|(?<!\w)\.)\s{{1,4}}(?:-\w{{1,4}}\s{{1,4}})?<\(\s{{0,4}}{_FETCH}\b"),
    ("fetches and runs a program", rf"\b(?:eval|exec|sh\s-c|bash\s-\w{{0,3}}c|zsh\s-c)\s{{0,4}}[\"'(`]{{0,3}}\s{{0,4}}(?:\$\(|`)\s{{0,4}}{_FETCH}\b"),
    ("fetches and runs a program", rf"\b{_FETCH}\b.{{0,300}}(?:&&|;|\s)\s{{0,4}}(?:chmod\s\S{{1,10}}\s\S{{1,100}}|{_RUN}\s{{1,4}}\S{{0,80}}\.(?:sh|py|pl|rb|js|ps1)\b|\./\S{{1,80}})"),
    ("fetches and runs a program", r"\b(?:iex|invoke-expression)\b.{0,80}(?:downloadstring|webclient|irm|iwr|invoke-)"),
    ("fetches and runs a program", r"\bexec\s?\(.{0,120}(?:urlopen|requests\.get|urllib|httpx\.get)|\beval\s?\(.{0,80}\bfetch\s?\("),
    ("fetches and runs a program", r"\b(?:certutil\b.{0,40}-urlcache|mshta\s+https?:|regsvr32\b.{0,60}https?:|bitsadmin\b.{0,40}/transfer)"),
    ("fetches and runs a program", r"\b(?:pip3?|uv pip|pipx|npm|pnpm|yarn|npx|bunx|gem|cargo|go)\s(?:-\S{1,20}\s|\w{1,10}\s){0,3}(?:git\+)?https?://\S{1,200}"),
    ("fetches and runs a program", r"\bpip3?\sinstall\b.{0,100}--(?:extra-)?index-url\s?=?\s?\S{1,200}"),
    ("fetches an executable", r"https?://\S{1,300}\.(?:sh|ps1|exe|bat|cmd|msi|dmg|pkg|scr|vbs|jar|apk|deb|rpm)\b"),
    ("fetches a pasted script", r"https?://(?:raw\.githubusercontent\.com|gist\.githubusercontent\.com|pastebin\.com|transfer\.sh|0x0\.st|paste\.\w{2,10}\.\w{2,6})/\S{1,300}"),
    ("runs encoded text", rf"base64\s(?:-d|-D|--decode)\b.{{0,80}}\|\s{{0,4}}(?:{_RUN})|\b(?:powershell|pwsh)\b.{{0,60}}\s-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{{16,}}"),
    ("carries a long encoded block", r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{240,}={0,2}(?![A-Za-z0-9+/])"),
    ("deletes without limit", r"\brm\s(?:-\w{1,10}\s){1,3}(?:--no-preserve-root\s)?(?:/|~|\$HOME|/\*|\*)(?:\s|$|[;&|])|\bmkfs(?:\.\w{1,8})?\s/dev/|\bdd\s.{0,60}\bof=/dev/(?:sd|nvme|disk|hd)|:\(\)\s?\{\s?:\|:&\s?\};:"),
    ("deletes without limit", r"\b(?:Remove-Item|rd|rmdir)\b.{0,40}(?:-Recurse|/s)\b.{0,40}\b[A-Z]:\\(?:\s|$|Windows|Users)|\bformat\s[a-z]:\s?/"),
    ("reads credentials", r"(?:~|\$HOME|/root|/home/\w{1,32})/\.(?:ssh/id_|aws/credentials|netrc|gnupg|kube/config|docker/config)|/etc/shadow\b|login\.keychain|\bsecurity find-(?:generic|internet)-password"),
    ("sends data away", r"\b(?:send|post|upload|forward|exfiltrate|transmit|email)\w{0,4}\b.{0,60}\b(?:credentials?|passwords?|api keys?|tokens?|ssh keys?|private keys?|cookies|\.env|session data|chat history|conversation)\b.{0,40}\bto\b.{0,60}(?:https?://|@|webhook|server|endpoint)"),
    ("sends data away", r"\bcurl\b.{0,200}(?:-d|--data\S{0,20}|-F|-T|--upload-file)\s.{0,80}(?:\$\(|@~|@/etc|@\$HOME|\.env\b|\$\{?[A-Z_]{0,30}(?:KEY|TOKEN|SECRET|PASSWORD))"),
    ("opens a remote shell", r"/dev/tcp/\S{1,100}|\bnc(?:at)?\s.{0,40}-e\s|\bsocat\b.{0,80}exec:|\bbash\s-i\s>&"),
    flags=re.IGNORECASE,
)  # fmt: skip

HIDDEN = _patterns(
    ("characters that turn the reading direction", "[\u202a-\u202e\u2066-\u2069]"),
    ("characters that can't be seen", "[\u200b\u2060-\u2064\ufeff\u00ad\u180e\u115f\u1160\u3164\uffa0]{1,10}"),
    ("text in tag characters", "[\U000e0000-\U000e007f\U000e0100-\U000e01ef]"),
    ("control characters", "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"),
    ("text in a comment that is not shown", r"<!--(?!-->).{12}"),
    flags=re.DOTALL,
)
