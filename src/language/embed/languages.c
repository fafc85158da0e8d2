/* Is a point that of a text in the prior's language or in another?  Embeddings of a multilingual
 * sentence hold its language beside its meaning.  Texts of the prior's language are normal with its
 * mean m and covariance C; those of another language k are taken as normal with the same covariance
 * around m_k, the mean of a few sentences of ours.  The log ratio of the two densities is linear
 * (Fisher 1936): (C + r)^-1 (m_k - m) against x - (m + m_k)/2; r stands for the noise and for what
 * the covariance does not hold.  The largest over the languages is the score. */
#include "embed_private.h"

#include <fre/linalg.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EACH 4u     /* sentences a language; about weather, a table, an alarm, a card, a pharmacy */
#define RIDGE 0.003 /* variance a coordinate; found on public text */
#define NATIVE_MIN 3u

/* Written for this purpose.  The first is the language that the judgement is made for. */
static const char *const sentence[][EACH] = {
    {"What will the weather be like in the city tomorrow",
     "I would like to book a table for two people", "Set an alarm for seven in the morning",
     "I have lost my credit card"},
    {"Wie wird das Wetter morgen in der Stadt", "Ich möchte einen Termin beim Zahnarzt vereinbaren",
     "Bitte stelle den Wecker auf sieben Uhr", "Ich habe meine Kreditkarte verloren"},
    {"Quel temps fera-t-il demain à la campagne",
     "Je voudrais réserver une table pour deux personnes",
     "Mets un réveil pour sept heures du matin", "J'ai perdu ma carte bancaire"},
    {"Qué tiempo hará mañana en la ciudad", "Quiero reservar una mesa para dos personas",
     "Pon la alarma a las siete de la mañana", "He perdido mi tarjeta de crédito"},
    {"Che tempo farà domani in città", "Vorrei prenotare un tavolo per due",
     "Metti la sveglia alle sette", "Dove si trova la farmacia più vicina"},
    {"Como vai estar o tempo amanhã na cidade", "Quero marcar uma consulta com o dentista",
     "Coloque o despertador para as sete horas", "Perdi o meu cartão de crédito"},
    {"Wat voor weer wordt het morgen in de stad", "Ik wil graag een afspraak maken bij de tandarts",
     "Zet de wekker om zeven uur", "Ik ben mijn bankpas kwijt"},
    {"Hur blir vädret i morgon", "Jag vill boka ett bord för två personer",
     "Ställ väckarklockan på sju", "Var ligger närmaste apotek"},
    {"Jaka będzie jutro pogoda w mieście", "Chciałbym zarezerwować stolik dla dwóch osób",
     "Ustaw budzik na siódmą rano", "Zgubiłem kartę kredytową"},
    {"Yarın şehirde hava nasıl olacak", "İki kişilik bir masa ayırtmak istiyorum",
     "Alarmı sabah yediye kur", "En yakın eczane nerede"},
    {"Millainen sää huomenna on kaupungissa", "Haluaisin varata pöydän kahdelle",
     "Aseta herätys seitsemäksi", "Missä on lähin apteekki"},
    {"Milyen idő lesz holnap a városban", "Szeretnék asztalt foglalni két főre",
     "Állítsd be az ébresztőt hét órára", "Hol van a legközelebbi gyógyszertár"},
    {"Thời tiết ngày mai thế nào", "Tôi muốn đặt bàn cho hai người",
     "Đặt báo thức lúc bảy giờ sáng", "Hiệu thuốc gần nhất ở đâu"},
    {"Bagaimana cuaca besok di kota", "Saya ingin memesan meja untuk dua orang",
     "Pasang alarm jam tujuh pagi", "Di mana apotek terdekat"},
    {"Какая завтра погода в городе", "Я хочу заказать столик на двоих",
     "Поставь будильник на семь утра", "Я потерял кредитную карту"},
    {"Τι καιρό θα κάνει αύριο στην πόλη", "Θέλω να κλείσω τραπέζι για δύο άτομα",
     "Βάλε ξυπνητήρι για τις εφτά το πρωί", "Πού είναι το πιο κοντινό φαρμακείο"},
    {"كيف سيكون الطقس غدا في المدينة", "أريد حجز طاولة لشخصين",
     "اضبط المنبه على الساعة السابعة صباحا", "أين أقرب صيدلية"},
    {"מה יהיה מזג האוויר מחר בעיר", "אני רוצה להזמין שולחן לשניים",
     "כוון את השעון המעורר לשבע בבוקר", "איבדתי את כרטיס האשראי שלי"},
    {"कल शहर में मौसम कैसा रहेगा", "मुझे दो लोगों के लिए मेज बुक करनी है", "सुबह सात बजे का अलार्म लगा दो",
     "सबसे नज़दीकी दवा की दुकान कहाँ है"},
    {"আগামীকাল শহরে আবহাওয়া কেমন থাকবে", "আমি দুজনের জন্য একটি টেবিল চাই", "সকাল সাতটায় অ্যালার্ম দাও",
     "আমার কার্ড হারিয়ে গেছে"},
    {"நாளை நகரத்தில் வானிலை எப்படி இருக்கும்", "இரண்டு பேருக்கு மேசை வேண்டும்", "காலை ஏழு மணிக்கு அலாரம் வை",
     "என் கடன் அட்டை தொலைந்துவிட்டது"},
    {"พรุ่งนี้อากาศในเมืองจะเป็นอย่างไร", "ฉันต้องการจองโต๊ะสำหรับสองคน", "ตั้งนาฬิกาปลุกตอนเจ็ดโมงเช้า",
     "ฉันทำบัตรเครดิตหาย"},
    {"내일 시내 날씨가 어때요", "두 사람 자리를 예약하고 싶어요", "아침 일곱 시에 알람을 맞춰 줘",
     "가장 가까운 약국이 어디예요"},
    {"明日の天気はどうですか", "二人分の席を予約したいです", "朝七時にアラームをセットして",
     "一番近い薬局はどこですか"},
    {"帮我设一个明天早上七点的闹钟", "明天城里的天气怎么样", "我想订一张两个人的桌子",
     "我的信用卡丢了"},
    {"როგორი ამინდი იქნება ხვალ ქალაქში", "მინდა მაგიდის დაჯავშნა ორი ადამიანისთვის",
     "დააყენე მაღვიძარა დილის შვიდ საათზე", "დავკარგე საკრედიტო ბარათი"},
    {"Ինչպիսի եղանակ կլինի վաղը քաղաքում", "Ուզում եմ սեղան պատվիրել երկու հոգու համար",
     "Դիր զարթուցիչը առավոտյան յոթին", "Ես կորցրել եմ իմ քարտը"},
};

#define LANGUAGES (sizeof sentence / sizeof *sentence)
#define OTHERS (LANGUAGES - 1)

struct fre_languages {
    const fre_prior *prior; /* borrowed */
    size_t dim;
    float *mean;  /* OTHERS x dim: of each language but the first */
    size_t n;     /* those of which the embedder knows any word */
    float *w;     /* n x dim: weights at noise 0 */
    double *half; /* n: the threshold of each */
};

/* Weights of language k at some noise, and its threshold. */
static fre_status weigh(const fre_languages *l, float *w, double *half, size_t k, double noise_std)
{
    const float *mean = l->mean + k * l->dim, *m = fre_prior_mean(l->prior);
    const double s = sqrt(RIDGE + noise_std * noise_std);
    fre_status st = fre_prior_posterior_mean(l->prior, w, mean, s);

    *half = 0;
    for (size_t i = 0; st == FRE_OK && i < l->dim; i++) {
        w[i] = (float)(((double)mean[i] - (double)w[i]) / (s * s)); /* (C + s^2)^-1 (m_k - m) */
        *half += 0.5 * (double)w[i] * ((double)mean[i] - (double)m[i]);
    }
    return st;
}

static double ratio(const fre_languages *l, const float *w, double half, const float *x)
{
    return fre_dot(w, x, l->dim) - fre_dot(w, fre_prior_mean(l->prior), l->dim) - half;
}

static fre_status score(const fre_languages *l, double *out, const float *x, double noise_std)
{
    float *w = NULL;
    fre_status st = FRE_OK;

    *out = -(double)INFINITY;
    if (noise_std > 0) {
        w = calloc(l->dim, sizeof *w);
        if (!w)
            return FRE_E_NOMEM;
    }
    for (size_t k = 0; st == FRE_OK && k < l->n; k++) {
        double half = l->half[k];

        if (w)
            st = weigh(l, w, &half, k, noise_std);
        if (st == FRE_OK)
            *out = fmax(*out, ratio(l, w ? w : l->w + k * l->dim, half, x));
    }
    free(w);
    return st;
}

fre_status fre_languages_score(const fre_languages *l, double *out, const float *x,
                               double noise_std)
{
    if (!l || !out || !x || !(noise_std >= 0) || !isfinite(noise_std))
        return FRE_E_ARG;
    return score(l, out, x, noise_std);
}

static void add_mean(fre_languages *l, const float *x)
{
    size_t known = 0;
    float *mean = l->mean + l->n * l->dim;

    for (size_t j = 0; j < EACH; j++)
        if (!fre_is_zero_row(x + j * l->dim, l->dim)) {
            known++;
            for (size_t i = 0; i < l->dim; i++)
                mean[i] += x[j * l->dim + i];
        }
    for (size_t i = 0; known > 0 && i < l->dim; i++)
        mean[i] /= (float)known;
    l->n += known > 0;
}

/* The embeddings of the first n sentences, into n x dim. */
static fre_status embed_sentences(float *x, fre_embedder *e, size_t n, fre_err *err)
{
    const char *text[LANGUAGES * EACH];
    size_t len[LANGUAGES * EACH];

    for (size_t i = 0; i < n; i++) {
        text[i] = sentence[i / EACH][i % EACH];
        len[i] = strlen(text[i]);
    }
    return embed_run(e, x, NULL, text, len, n, err);
}

static fre_status learn(fre_languages *l, fre_embedder *e, bool *native, fre_err *err)
{
    const size_t known = embed_known_languages(l->mean, fre_model_info_view(e->model));
    const size_t n = known > 0 ? EACH : LANGUAGES * EACH; /* sentences to embed */
    float *x = calloc(n * l->dim, sizeof *x);
    size_t mine = 0;
    double v;
    fre_status st = x ? embed_sentences(x, e, n, err) : FRE_E_NOMEM;

    l->n = known;
    for (size_t k = 1; st == FRE_OK && k * EACH < n; k++)
        add_mean(l, x + k * EACH * l->dim);
    for (size_t k = 0; st == FRE_OK && k < l->n; k++)
        st = weigh(l, l->w + k * l->dim, &l->half[k], k, 0);
    for (size_t j = 0; st == FRE_OK && j < EACH; j++) {
        st = score(l, &v, x + j * l->dim, 0);
        mine += st == FRE_OK && v < FRE_LANGUAGES_FOREIGN;
    }
    *native = mine >= NATIVE_MIN;
    free(x);
    return st;
}

fre_status fre_languages_new(fre_languages **out, fre_embedder *e, const fre_prior *prior,
                             fre_err *err)
{
    fre_languages *l;
    bool native = false;
    fre_status st;

    *out = NULL;
    if (!prior || fre_prior_info_view(prior)->dim != fre_model_info_view(e->model)->dim)
        return FRE_OK;
    l = calloc(1, sizeof *l);
    if (!l)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    l->prior = prior;
    l->dim = fre_model_info_view(e->model)->dim;
    l->mean = calloc(OTHERS * l->dim, sizeof *l->mean);
    l->w = calloc(OTHERS * l->dim, sizeof *l->w);
    l->half = calloc(OTHERS, sizeof *l->half);
    st = l->mean && l->w && l->half ? learn(l, e, &native, err) : FRE_E_NOMEM;
    if (st == FRE_OK && native) {
        *out = l;
        l = NULL; /* handed over */
    }
    fre_languages_free(l);
    return st == FRE_E_NOMEM ? fre_fail(err, st, "out of memory") : st;
}

void fre_languages_free(fre_languages *l)
{
    if (!l)
        return;
    free(l->mean);
    free(l->w);
    free(l->half);
    free(l);
}
