/*
 * The words that suspicion.c looks for, in their normal form: lower case, without accents, one space
 * between words. A word is found at the beginning of a word.
 */
#include "guard/suspicion_words.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Separated by `|`. */
static const char *const all_words[SIRIX_WORDS_KINDS] = {
    [SIRIX_WORDS_DROP] =
        "ignor|disregard|forget|overrid|bypass|pay no attention|do not follow|stop following|"
        "set aside|throw away|discard|vergiss|vergesst|missacht|ubergeh|beachte nicht|oublie|"
        "ne tiens pas compte|ne tenez pas compte|ne suis plus|fais abstraction|olvida|haz caso "
        "omiso|"
        "no hagas caso|dimentica|non tenere conto|esqueca|esquece|desconsider|negeer|vergeet|"
        "zignoruj|zapomnij|pomin |onceki talimatlari yok|yok say|gormezden gel|unut|bortse|glom |"
        "игнорир|проигнорир|забудь|не обращай внимания|не следуй|ігнору|забудь|"
        "忽略|无视|無視|忘记|忘記|忘れ|무시|잊어|تجاهل|انس |"
        "अनदेखा|नज़रअंदाज|भूल जा|abaikan|lupakan|bo qua|quen ",
    [SIRIX_WORDS_PRIOR] =
        "previous|prior|above|earlier|preceding|all |any |everything|former|existing|current|your|"
        "vorherig|vorig|bisherig|obig|alle|fruher|deine|precedent|ci dessus|toutes|tes |vos |"
        "anterior|previa|previo|todas|tus |sus |precedenti|tutte|tue |suas|todas|eerdere|vorige|je "
        "|"
        "poprzedni|wszystkie|onceki|tum |tidigare|alla |"
        "предыдущ|прежн|все |свои|выше|попередн|之前|先前|以上|前面|所有|前の|以前|上記|これまで|"
        "이전|앞의|위의|모든|السابق|جميع|पिछले|सभी|sebelumnya|semua|truoc|tat ca",
    [SIRIX_WORDS_RULES] =
        "instruct|prompt|guideline|directive|rules|system message|programming|safeguard|safety|"
        "constraints|told|anweisung|regel|vorgaben|instruktion|consigne|regles|instrucc|indicacion|"
        "reglas|istruzion|regole|instruco|regras|instructies|regels|opdrachten|polecen|instrukcj|"
        "zasad|talimat|kural|instruktioner|regler|"
        "инструкц|указани|правил|команд|інструкц|指令|指示|提示词|规则|規則|說明|说明|プロンプト|"
        "ルール|"
        "지시|명령|프롬프트|규칙|التعليمات|تعليمات|الأوامر|निर्देश|नियम|instruksi|aturan|perintah|"
        "huong dan|chi thi|quy tac",
    [SIRIX_WORDS_TOOL] =
        "sirix_|sirix list|sirix resource|sirix query|sirix read|sirix history|sirix diff|"
        "sirix create|sirix delete|sirix insert|sirix update|sirix revert|sirix promote|"
        "sirix execute|store query|store_query|catalog_|tool|function call|mcp|werkzeug|outil|"
        "herramienta|strumento|ferramenta|инструмент|工具|ツール|도구",
    [SIRIX_WORDS_ACT] =
        "call |use |run |execute|invoke|send |email |e mail |post |upload|forward|exfiltrat|"
        "transmit|insert|delete|drop |read all|copy |export|dump |list all|grant|transfer|"
        "rufe|verwende|benutze|sende|schicke|losche|kopiere|lies alle|appelle|utilise|envoie|"
        "supprime|copie|usa |utiliza|llama|envia|borra|copia|chiama|invia|cancella|apague|envie|"
        "gebruik|stuur|verwijder|uzyj|wyslij|usun|kullan|gonder|sil |вызови|используй|отправ|удали|"
        "скопируй|прочитай "
        "все|调用|使用|发送|删除|复制|呼び出|使って|送信|削除|コピー|호출|사용하|보내|"
        "삭제|استخدم|أرسل|احذف|gunakan|kirim|hapus",
    [SIRIX_WORDS_AI] =
        "ai assistant|ai agent|ai model|assistant|language model|llm|chatgpt|gpt|claude|copilot|"
        "the agent|dear ai|attention ai|note to ai|to the ai|hey ai|ki assistent|ki modell|"
        "sprachmodell|assistant ia|modele de langage|asistente|modelo de lenguaje|assistente|"
        "asystent|asistan|ии "
        "ассистент|ассистент|языков|助手|人工智能|語言模型|语言模型|アシスタント|"
        "어시스턴트|المساعد",
    [SIRIX_WORDS_MUST] =
        "you must|you are now|you will now|from now on|your new|your task|your job|you should now|"
        "must now|please send|please call|please run|please delete|please read|must first|must "
        "call|"
        "must send|must delete|must reply|du bist jetzt|ab jetzt|du musst|von nun an|"
        "tu dois|tu es maintenant|desormais|debes|ahora eres|a partir de ahora|devi|ora sei|"
        "d ora in poi|voce agora|deve agora|a partir de agora|je bent nu|vanaf nu|teraz jestes|"
        "od teraz|musisz|artik|simdi|ты теперь|отныне|ты должен|теперь "
        "ты|你现在|从现在|你必须|您现在|"
        "今から|これから|あなたは|지금부터|당신은|أنت الآن|من الآن",
    [SIRIX_WORDS_SECRET] =
        "credential|password|passwd|secret|api key|apikey|access key|private key|token|ssn|"
        "credit card|all users|all documents|all records|all customer|whole database|"
        "zugangsdaten|passwort|kennwort|mot de passe|identifiants|contrasena|credencial|senha|"
        "wachtwoord|haslo|hasla|sifre|parola|пароль|пароли|учетн|секрет|密码|凭证|密钥|パスワード|"
        "認証情報|비밀번호|كلمات المرور|كلمة المرور|kata sandi|mat khau",
    [SIRIX_WORDS_WHERE] =
        "http|https|www|attacker|evil|webhook|pastebin|public_data|public data|ftp |external|"
        "example com|collector",
    [SIRIX_WORDS_HIDE] =
        "do not tell|don t tell|do not mention|don t mention|never mention|do not inform|"
        "without telling|without asking|without inform|without confirm|do not ask|don t ask|"
        "do not reveal this|keep this secret from|hide this from|silently|sag nicht|sage nicht|"
        "erwahne|ohne zu fragen|ohne nachzufragen|ne dis pas|ne mentionne|sans demander|"
        "no le digas|no menciones|sin preguntar|non dire|senza chiedere|nao conte|nao mencione|"
        "sem perguntar|vertel niet|zonder te vragen|nie mow|bez pytania|soyleme|не говори|"
        "не сообщай|не упоминай|без "
        "подтвержд|不要告诉|别告诉|不要提|言わない|知らせない|말하지|알리지|"
        "لا تخبر",
    [SIRIX_WORDS_USER] =
        "user|human|operator|customer|developer|benutzer|nutzer|utilisateur|usuario|utente|"
        "gebruiker|uzytkownik|kullanici|пользовател|用户|用戶|ユーザ|사용자|المستخدم",
    [SIRIX_WORDS_SHOW] =
        "reveal|print|repeat|output|show me|display|leak|disclose|tell me|zeige|gib |verrate|"
        "affiche|revele|muestra|revela|imprime|mostra|toon |pokaz|goster|покажи|раскрой|выведи|"
        "显示|输出|透露|表示し|보여|출력|اعرض",
    [SIRIX_WORDS_PROMPT] =
        "system prompt|your prompt|your instruction|your system|initial prompt|hidden prompt|"
        "systemprompt|system anweisung|deine anweisung|prompt systeme|tes instructions|"
        "prompt del sistema|tus instrucciones|prompt di sistema|tue istruzioni|prompt do sistema|"
        "системный промпт|системн|свои инструкции|系统提示|系统指令|システムプロンプト|시스템 "
        "프롬프트",
    [SIRIX_WORDS_STRONG] =
        "new system prompt|system override|developer mode enabled|jailbreak|do anything now|"
        "end of system prompt|end of data begin|begin new instruction|new instructions for the "
        "assistant|new instructions for you|"
        "important instruction for the|instructions for the ai|instructions to the ai|"
        "prompt injection payload|admin override|ignore all safety|act as if you had no|"
        "act as an unrestricted|pretend you have no|you have no restrictions|"
        "neue systemanweisung|nouvelles instructions pour|nuevas instrucciones para|"
        "nuove istruzioni per|novas instrucoes para|новые инструкции для|新的系统指令|新しい指示",
};

static struct sirix_suspicion_index by_byte;

/* Counts a word, or puts it at its place. */
static void index_word(const char *word, size_t len, size_t kind, bool puts)
{
    const uint16_t at = by_byte.first[(uint8_t)*word]++;

    assert(len != 0 && len <= UINT8_MAX);
    if (puts) {
        by_byte.entries[at].text = word;
        by_byte.entries[at].len = (uint8_t)len;
        by_byte.entries[at].kind = (uint8_t)kind;
    }
}

/* Goes through all words; counts those of a byte, or puts them at their place. */
static void index_words(bool puts)
{
    for (size_t kind = 0; kind < SIRIX_WORDS_KINDS; kind++) {
        size_t len = 0;

        for (const char *word = all_words[kind]; *word != '\0'; word += len + (word[len] == '|')) {
            len = strcspn(word, "|");
            index_word(word, len, kind, puts);
        }
    }
}

static void make_index(void)
{
    uint16_t sum = 0;

    index_words(false);
    for (size_t i = 0; i < 257; i++) {
        const uint16_t count = by_byte.first[i];

        by_byte.first[i] = sum;
        sum = (uint16_t)(sum + count);
    }
    assert(sum <= SIRIX_SUSPICION_WORDS_MAX);
    /* Each is moved to where the next one begins, and all of them back by one. */
    index_words(true);
    memmove(by_byte.first + 1, by_byte.first, 256 * sizeof(by_byte.first[0]));
    by_byte.first[0] = 0;
}

const struct sirix_suspicion_index *sirix_suspicion_index(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_index);
    return &by_byte;
}
