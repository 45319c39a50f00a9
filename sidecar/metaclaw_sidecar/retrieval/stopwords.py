"""Words that say nothing about the subject, as folded by `tokens.fold`: not indexed, not searched.

A function word of one language that names a thing in another (die, war, hat, son, pour) is left out of the lists:
its frequency in the texts at hand tells which it is.
"""

_ENGLISH = """
a about after again ago all also am an and any are as at be because been before being but by can could did do does
doing done dont down during each for from get had has have having he her here hers him his how i id if ill im in into
is isnt it its ive just let lets like me more most my no not of off on or other our out over own please really s same
she should so some such than that thats the their them then there these they this those through to too under until up
us very was we were what whats when where which while who whom whose why will with would you your yours youre
didnt doesnt dont wasnt werent cant couldnt wouldnt shouldnt hasnt havent hadnt theyre were weve youve theyve hes shes
"""
_FRENCH = """
le la les un une des du de et ou est suis es sommes etes sont etait ete etre avoir ai as ont il elle ils elles je tu
nous vous on ce cette ces cet mon ma mes ta tes sa ses leur leurs notre votre que qui quoi quel quelle quels
quelles ou quand
pourquoi dans sur avec sans pas ne se si au aux en y l d j m t s c n qu
"""
_GERMAN = """
der das dem des ein eine einen einem einer eines und oder ist waren haben hatte ich du er sie
es wir ihr mein meine meinen meiner meinem dein deine seine seinen ihr ihre ihren unser unsere was wie wann
warum welche welcher welches welchen in im an am auf von vom zu zum zur fur nach aus als auch nicht kein
keine wird werden wurde ob dass sich mich mir dich dir gern
"""
_SPANISH = """
el la los las un una unos unas y o es era ser estar esta estan ha han tu el ella ellos ellas nosotros
usted mi mis tu tus su sus nuestro nuestra que quien cual cuales cuando donde por para en de del al a
se te lo le les si muy mas
"""
_RUSSIAN = """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по ее мне было вот от меня еще нет о из
ему когда ну ли если или ни быть был него до вас уж вам ведь там потом себя ей они тут где есть надо ней для мы тебя
их чем была сам без будто чего раз тоже себе под кто этот того потому этого какои какая какое какие мои моя мое мои
твои зовут это эта эти
"""
_ARABIC = """
في من على الى عن مع ما ماذا متى اين كيف لماذا هل هو هي هم انا انت نحن هذا هذه ذلك تلك التي الذي كان كانت يكون قد لا لم
لن ان او و ثم كل بعد قبل اي
"""
_CJK = """
的 了 是 在 我 你 他 她 它 们 们 这 那 有 和 与 也 都 就 不 吗 呢 吧 啊 么 什 哪 谁 几 我的 你的
他的 她的 是什 什么 怎么 哪里 哪个 为什
我们 你们 他们 这个 那个 多少 です ます した って には では とは のは のが から まで ので でき ますか ですか
は が を に の と で も へ や
"""
_ROMANCE_AND_OTHERS = "il lo gli uno che di da con e o os as um uma do da em no na het een en"

STOPWORDS = frozenset(
    " ".join((_ENGLISH, _FRENCH, _GERMAN, _SPANISH, _RUSSIAN, _ARABIC, _CJK, _ROMANCE_AND_OTHERS)).split()
)

_GREETINGS = """
hello hi hey hiya howdy yo thanks thank thx ty ok okay yes yeah yep nope bye goodbye cheers welcome sure great good
morning afternoon evening night nice cool fine sorry lot continue proceed
bonjour salut merci bonsoir hallo danke moin servus tschuss guten tag hola gracias adios buenos buenas dias tardes
привет здравствуи здравствуите спасибо пока добрыи день вечер
مرحبا شكرا اهلا السلام عليكم صباح مساء الخير
你好 您好 谢谢 再见 早安 晚安 您 谢 嗨 好 好的
こん んに にち ちは あり りが がと とう うご おは はよ よう 안녕 녕하 하세 세요 감사 사합 합니 니다
"""
GREETINGS = frozenset(_GREETINGS.split())
