/* Binary HTTP: the RFC's examples, every rule of the decoder and every limit, and that whatever is
 * accepted has one meaning. */
#include "seal_vectors.h"

static hex_bytes example(const char *name)
{
    static const char *const kinds[] = {"bhttp", NULL};
    FILE *f = vectors_open();
    vector_line l;
    hex_bytes h = {.n = 0};

    while (vectors_next(f, &l, kinds)) {
        if (strcmp(l.word[1], name) == 0)
            h = unhex(l.word[2]);
    }
    (void)fclose(f);
    assert_true(h.n > 0);
    return h;
}

static void assert_fields(const fre_bhttp_fields *f, const char *const *pairs)
{
    size_t n = 0;

    for (; pairs[2 * n]; n++) {
        assert_true(n < f->n);
        assert_bytes(f->at[n].name, text(pairs[2 * n]));
        assert_bytes(f->at[n].value, text(pairs[2 * n + 1]));
    }
    assert_int_equal(f->n, n);
}

static fre_bhttp_field field(const char *name, const char *value)
{
    return (fre_bhttp_field){.name = text(name), .value = text(value)};
}

static fre_bhttp get_request(void)
{
    return (fre_bhttp){.kind = FRE_BHTTP_REQUEST,
                       .method = text("GET"),
                       .scheme = text("https"),
                       .authority = text("a.example"),
                       .path = text("/x?y")};
}

/* Decoding must fail with `want` and write nothing. */
static void check_bad(fre_bhttp_kind kind, fre_bytes in, fre_status want)
{
    static fre_bhttp m;
    /* An exact copy on the heap, so that a sanitizer sees a read past the end. */
    uint8_t *copy = malloc(in.n + 1);

    assert_non_null(copy);
    if (in.n > 0)
        memcpy(copy, in.p, in.n);
    mark(&m, sizeof m);
    assert_int_equal(fre_bhttp_decode(&m, kind, view(in.n > 0 ? copy : NULL, in.n)), want);
    assert_untouched(&m, sizeof m);
    free(copy);
}

/* ---- RFC 9292 section 5 ------------------------------------------------------------------------ */

static const char *const request_fields[] = {"user-agent",
                                             "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3",
                                             "host",
                                             "www.example.com",
                                             "accept-language",
                                             "en, mi",
                                             NULL};
static const char *const no_fields[] = {NULL};

static void requests_follow_rfc_9292(void **state)
{
    static const char *const names[] = {"request-known", "request-indeterminate"};
    const hex_bytes known = example(names[0]);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const hex_bytes in = example(names[i]);
        fre_bhttp m;
        fre_buf b;

        assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_REQUEST, bytes_of(&in)), FRE_OK);
        assert_int_equal(m.kind, FRE_BHTTP_REQUEST);
        assert_bytes(m.method, text("GET"));
        assert_bytes(m.scheme, text("https"));
        assert_bytes(m.authority, text(""));
        assert_bytes(m.path, text("/hello.txt"));
        assert_fields(&m.header, request_fields);
        assert_fields(&m.trailer, no_fields);
        assert_int_equal(m.content.n, 0);
        /* The example spells out two empty sections, which padding does as well. */
        fre_buf_init(&b, 1000);
        assert_int_equal(fre_bhttp_encode(&b, &m, known.n), FRE_OK);
        assert_bytes(view(b.p, b.n), bytes_of(&known));
        b.n = 0;
        assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_OK);
        assert_bytes(view(b.p, b.n), view(known.b, known.n - 2));
        fre_buf_wipe(&b);
        fre_bhttp_wipe(&m);
    }
}

static void responses_follow_rfc_9292(void **state)
{
    static const char *const fields[] = {"date",
                                         "Mon, 27 Jul 2009 12:28:53 GMT",
                                         "server",
                                         "Apache",
                                         "last-modified",
                                         "Wed, 22 Jul 2009 19:15:56 GMT",
                                         "etag",
                                         "\"34aa387-d-1568eb00\"",
                                         "accept-ranges",
                                         "bytes",
                                         "content-length",
                                         "51",
                                         "vary",
                                         "Accept-Encoding",
                                         "content-type",
                                         "text/plain",
                                         NULL};
    static const char *const trailers[] = {"trailer", "text", NULL};
    const hex_bytes in = example("response-informational"), known = example("response-chunked");
    fre_bhttp m;
    fre_buf b;

    (void)state;
    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, bytes_of(&in)), FRE_OK);
    assert_int_equal(m.informational, 2);
    assert_int_equal(m.status, 200);
    assert_fields(&m.header, fields);
    assert_fields(&m.trailer, no_fields);
    assert_bytes(m.content, text("Hello World! My content includes a trailing CRLF.\r\n"));
    fre_bhttp_wipe(&m);

    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, bytes_of(&known)), FRE_OK);
    assert_int_equal(m.informational, 0);
    assert_int_equal(m.status, 200);
    assert_fields(&m.header, no_fields);
    assert_fields(&m.trailer, trailers);
    assert_bytes(m.content, text("This content contains CRLF.\r\n"));
    fre_buf_init(&b, 1000);
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_OK);
    assert_bytes(view(b.p, b.n), bytes_of(&known));
    fre_buf_wipe(&b);
    fre_bhttp_wipe(&m);
}

/* ---- truncation and padding ------------------------------------------------------------------ */

/* Cuts the message everywhere; `whole` lists, ended by 0, where a cut leaves a message. */
static void check_cuts(const char *name, fre_bhttp_kind kind, const size_t *whole)
{
    const hex_bytes in = example(name);

    for (size_t n = 0; n < in.n; n++) {
        fre_bhttp m;

        if (n != *whole) {
            check_bad(kind, view(in.b, n), FRE_E_DATA);
            continue;
        }
        whole++;
        assert_int_equal(fre_bhttp_decode(&m, kind, view(in.b, n)), FRE_OK);
        assert_int_equal(m.trailer.n, 0);
        fre_bhttp_wipe(&m);
    }
    assert_int_equal(*whole, 0);
}

static void cuts_are_found(void **state)
{
    /* After the control data, then after each section. */
    const hex_bytes k = example("request-known"), i = example("request-indeterminate");
    const hex_bytes r = example("response-informational"), c = example("response-chunked");
    const size_t known[] = {23, k.n - 2, k.n - 1, 0};
    size_t indeterminate[15] = {23};
    /* After the final status, its fields, the content. */
    const size_t informational[] = {111, r.n - 54, r.n - 1, 0};
    const size_t chunked[] = {3, 4, c.n - 14, 0};

    (void)state;
    for (size_t n = 0; n < 13; n++) /* its own terminators and the ten bytes of padding */
        indeterminate[1 + n] = i.n - 12 + n;
    indeterminate[13] = 0;
    check_cuts("request-known", FRE_BHTTP_REQUEST, known);
    check_cuts("request-indeterminate", FRE_BHTTP_REQUEST, indeterminate);
    check_cuts("response-informational", FRE_BHTTP_RESPONSE, informational);
    check_cuts("response-chunked", FRE_BHTTP_RESPONSE, chunked);
}

static void only_zeros_may_follow(void **state)
{
    static const char *const names[] = {"request-known", "request-indeterminate"};

    (void)state;
    for (size_t e = 0; e < 2; e++) {
        hex_bytes in = example(names[e]);

        for (size_t extra = 1; extra <= 40; extra++) {
            fre_bhttp m;

            in.b[in.n + extra - 1] = 0;
            assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_REQUEST, view(in.b, in.n + extra)),
                             FRE_OK);
            assert_fields(&m.header, request_fields);
            fre_bhttp_wipe(&m);
        }
        for (size_t at = 0; at < 40; at++) {
            in.b[in.n + at] = 1;
            check_bad(FRE_BHTTP_REQUEST, view(in.b, in.n + 40), FRE_E_DATA);
            in.b[in.n + at] = 0;
        }
    }
}

static void padding_makes_one_size(void **state)
{
    fre_bhttp m = get_request();
    fre_buf b;
    size_t least;

    (void)state;
    fre_buf_init(&b, 4096);
    m.content = text("content");
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_OK);
    least = b.n;
    for (size_t to = least; to < least + 600; to++) {
        fre_bhttp back;

        b.n = 0;
        assert_int_equal(fre_bhttp_encode(&b, &m, to), FRE_OK);
        assert_int_equal(b.n, to);
        assert_int_equal(fre_bhttp_decode(&back, FRE_BHTTP_REQUEST, view(b.p, b.n)), FRE_OK);
        assert_bytes(back.content, text("content"));
        fre_bhttp_wipe(&back);
    }
    b.n = 3;
    assert_int_equal(fre_bhttp_encode(&b, &m, least - 1), FRE_E_LIMIT);
    assert_int_equal(fre_bhttp_encode(&b, &m, 4096 - 2), FRE_E_LIMIT);
    assert_int_equal(b.n, 3);
    fre_buf_wipe(&b);
}

/* ---- integers and framing -------------------------------------------------------------------- */

static void integers_of_every_form(void **state)
{
    /* Responses; status 200 does not fit the form of one byte. */
    static const struct {
        const char *hex;
        fre_status want;
    } cases[] = {
        {"0140c8", FRE_OK},
        {"01800000c8", FRE_OK},
        {"01c0000000000000c8", FRE_OK},
        {"400140c8", FRE_OK},
        {"c00000000000000140c8", FRE_OK},
        {"0140c8c00000000000000000", FRE_OK}, /* an empty header section */
        {"0340c8c000000000000000"
         "80000000"
         "4000",
         FRE_OK},
        {"01", FRE_E_DATA},
        {"0140", FRE_E_DATA},
        {"0180c8", FRE_E_DATA},
        {"01c8", FRE_E_DATA},
        {"0140c7", FRE_E_DATA},                   /* 199 and nothing after it */
        {"014063", FRE_E_DATA},                   /* 99 */
        {"014258", FRE_E_DATA},                   /* 600 */
        {"01425700", FRE_OK},                     /* 599 */
        {"01ffffffffffffffff", FRE_E_DATA},       /* 2^62 - 1 */
        {"0140c8ffffffffffffffff", FRE_E_DATA},   /* a section of 2^62 - 1 bytes */
        {"0140c800ffffffffffffffff", FRE_E_DATA}, /* content of as many */
        {"0140c8000000", FRE_OK},
        {"0440c8", FRE_E_DATA}, /* no such framing */
        {"0540c80000", FRE_E_DATA},
        {"3f40c8", FRE_E_DATA},
        {"0140630040c8", FRE_E_DATA}, /* 99 before 200 */
        {"0040c8", FRE_E_DATA},       /* a request */
        {"0240c8", FRE_E_DATA},
        {"0340c80000", FRE_OK},
        {"014066"
         "05"
         "026120"
         "0178"
         "40c8",
         FRE_E_DATA}, /* a bad field of a 102 */
        {"-", FRE_E_DATA},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const hex_bytes in = unhex(cases[i].hex);
        fre_bhttp m;

        if (cases[i].want != FRE_OK) {
            check_bad(FRE_BHTTP_RESPONSE, bytes_of(&in), cases[i].want);
            continue;
        }
        assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, bytes_of(&in)), FRE_OK);
        assert_true(m.status == 200 || m.status == 599);
        assert_int_equal(m.header.n + m.trailer.n + m.content.n, 0);
        fre_bhttp_wipe(&m);
    }
}

static void chunks_are_joined(void **state)
{
    /* Three chunks, the second with a long integer; then one chunk alone. */
    const hex_bytes three = unhex("0340c800"
                                  "026162"
                                  "80000001"
                                  "63"
                                  "03646566"
                                  "00"
                                  "00");
    const hex_bytes one = unhex("0340c800"
                                "026162"
                                "00");
    const hex_bytes cut = unhex("0340c800"
                                "026162"
                                "0163");
    fre_bhttp m;

    (void)state;
    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, bytes_of(&three)), FRE_OK);
    assert_bytes(m.content, text("abcdef"));
    fre_bhttp_wipe(&m);
    assert_null(m.joined.p);
    assert_int_equal(m.content.n, 0);
    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, bytes_of(&one)), FRE_OK);
    assert_bytes(m.content, text("ab"));
    assert_ptr_equal(m.content.p, one.b + 5);
    fre_bhttp_wipe(&m);
    fre_bhttp_wipe(NULL);
    /* Without the end; what was joined is released, as a sanitizer sees. */
    check_bad(FRE_BHTTP_RESPONSE, bytes_of(&cut), FRE_E_DATA);
}

/* ---- rules ------------------------------------------------------------------------------------- */

/* Bytes of a request, written without the encoder's own checks. */
static size_t put(uint8_t *out, fre_bytes b)
{
    assert_true(b.n < 16384);
    out[0] = (uint8_t)(0x40 | b.n >> 8);
    out[1] = (uint8_t)b.n;
    if (b.n > 0)
        memcpy(out + 2, b.p, b.n);
    return 2 + b.n;
}

static void check_target(fre_bytes method, fre_bytes scheme, fre_bytes authority, fre_bytes path,
                         fre_status want)
{
    static uint8_t bytes[8192];
    const fre_bhttp given = {.kind = FRE_BHTTP_REQUEST,
                             .method = method,
                             .scheme = scheme,
                             .authority = authority,
                             .path = path};
    fre_bhttp m;
    fre_buf b;
    size_t n = 1;

    bytes[0] = 0;
    n += put(bytes + n, method);
    n += put(bytes + n, scheme);
    n += put(bytes + n, authority);
    n += put(bytes + n, path);
    fre_buf_init(&b, sizeof bytes);
    assert_int_equal(fre_bhttp_encode(&b, &given, 0), want == FRE_E_DATA ? FRE_E_ARG : want);
    if (want != FRE_OK) {
        assert_int_equal(b.n, 0);
        check_bad(FRE_BHTTP_REQUEST, view(bytes, n), want);
        return;
    }
    assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_REQUEST, view(bytes, n)), FRE_OK);
    assert_bytes(m.method, method);
    assert_bytes(m.scheme, scheme);
    assert_bytes(m.authority, authority);
    assert_bytes(m.path, path);
    fre_bhttp_wipe(&m);
    fre_buf_wipe(&b);
}

static void targets_are_checked(void **state)
{
    static const struct {
        const char *method, *scheme, *authority, *path;
        fre_status want;
    } cases[] = {
        {"GET", "https", "", "/", FRE_OK},
        {"OPTIONS", "http", "a.example:80", "*", FRE_OK},
        {"M-SEARCH", "coap+tcp", "[::1]", "/a?b=%20&c", FRE_OK},
        {"", "https", "", "/", FRE_E_DATA},
        {"GE T", "https", "", "/", FRE_E_DATA},
        {"GET\r", "https", "", "/", FRE_E_DATA},
        {"CONNECT", "https", "a", "/", FRE_E_DATA},
        {"CONNECT", "", "a", "", FRE_E_DATA},
        {"GET", "", "", "/", FRE_E_DATA},
        {"GET", "ht tp", "", "/", FRE_E_DATA},
        {"GET", "https:", "", "/", FRE_E_DATA},
        {"GET", "https", "a b", "/", FRE_E_DATA},
        {"GET", "https", "me@a.example", "/", FRE_E_DATA},
        {"GET", "https", "a/b", "/", FRE_E_DATA},
        {"GET", "https", "a\x80", "/", FRE_E_DATA},
        {"GET", "https", "", "", FRE_E_DATA},
        {"GET", "https", "", "*", FRE_E_DATA},
        {"OPTIONS", "https", "", "**", FRE_E_DATA},
        {"GET", "https", "", "x", FRE_E_DATA},
        {"GET", "https", "", "/ HTTP/1.1", FRE_E_DATA},
        {"GET", "https", "", "/\r\nhost: b", FRE_E_DATA},
        {"GET", "https", "", "/#part", FRE_E_DATA},
        {"GET", "https", "", "/\x7f", FRE_E_DATA},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_target(text(cases[i].method), text(cases[i].scheme), text(cases[i].authority),
                     text(cases[i].path), cases[i].want);
    check_target(view("G\0T", 3), text("https"), text(""), text("/"), FRE_E_DATA);
    check_target(text("GET"), text("https"), text(""), view("/\0", 2), FRE_E_DATA);
}

static void lengths_are_limited(void **state)
{
    static char a[5000];
    const fre_bytes get = text("GET"), https = text("https"), none = text(""), root = text("/");

    (void)state;
    memset(a, 'a', sizeof a);
    check_target(view(a, FRE_BHTTP_METHOD_MAX), https, none, root, FRE_OK);
    check_target(view(a, FRE_BHTTP_METHOD_MAX + 1), https, none, root, FRE_E_LIMIT);
    check_target(get, view(a, FRE_BHTTP_SCHEME_MAX), none, root, FRE_OK);
    check_target(get, view(a, FRE_BHTTP_SCHEME_MAX + 1), none, root, FRE_E_LIMIT);
    check_target(get, https, view(a, FRE_BHTTP_AUTHORITY_MAX), root, FRE_OK);
    check_target(get, https, view(a, FRE_BHTTP_AUTHORITY_MAX + 1), root, FRE_E_LIMIT);
    a[0] = '/';
    check_target(get, https, none, view(a, FRE_BHTTP_PATH_MAX), FRE_OK);
    check_target(get, https, none, view(a, FRE_BHTTP_PATH_MAX + 1), FRE_E_LIMIT);
}

/* One field in each section of a response, in both framings, and through the encoder. */
static void check_field(fre_bytes name, fre_bytes value, fre_status want)
{
    static uint8_t bytes[8192];

    for (unsigned trailer = 0; trailer < 2; trailer++) {
        for (unsigned known = 0; known < 2; known++) {
            fre_bhttp m;
            size_t n = 0, start;

            bytes[n++] = known ? 1 : 3;
            bytes[n++] = 0x40;
            bytes[n++] = 200;
            if (trailer) {
                bytes[n++] = 0;
                bytes[n++] = 0;
            }
            start = n;
            n += known ? 2 : 0;
            n += put(bytes + n, name);
            n += put(bytes + n, value);
            if (known) {
                bytes[start] = (uint8_t)(0x40 | (n - start - 2) >> 8);
                bytes[start + 1] = (uint8_t)(n - start - 2);
            } else {
                bytes[n++] = 0;
            }
            if (want != FRE_OK) {
                check_bad(FRE_BHTTP_RESPONSE, view(bytes, n), want);
                continue;
            }
            assert_int_equal(fre_bhttp_decode(&m, FRE_BHTTP_RESPONSE, view(bytes, n)), FRE_OK);
            assert_int_equal(m.header.n, 1 - trailer);
            assert_int_equal(m.trailer.n, trailer);
            assert_bytes((trailer ? &m.trailer : &m.header)->at[0].name, name);
            assert_bytes((trailer ? &m.trailer : &m.header)->at[0].value, value);
            fre_bhttp_wipe(&m);
        }
    }
}

static void fields_are_checked(void **state)
{
    static const struct {
        const char *name, *value;
        fre_status want;
    } cases[] = {
        {"a", "", FRE_OK},
        {"a", "x y\tz", FRE_OK},
        {"a", "caf\xc3\xa9", FRE_OK},
        {"Content-Type", "x", FRE_OK},
        {"!#$%&'*+-.^_`|~09", "x", FRE_OK},
        {"a b", "x", FRE_E_DATA},
        {"a:", "x", FRE_E_DATA},
        {"a\xc3", "x", FRE_E_DATA},
        {"a\r", "x", FRE_E_DATA},
        {"(a)", "x", FRE_E_DATA},
        {":method", "GET", FRE_E_DATA},
        {":scheme", "https", FRE_E_DATA},
        {":authority", "a", FRE_E_DATA},
        {":path", "/", FRE_E_DATA},
        {":status", "200", FRE_E_DATA},
        {":protocol", "x", FRE_E_DATA},
        {"a", " x", FRE_E_DATA},
        {"a", "x ", FRE_E_DATA},
        {"a", "\tx", FRE_E_DATA},
        {"a", "x\t", FRE_E_DATA},
        {"a", " ", FRE_E_DATA},
        {"a", "x\r\nb: y", FRE_E_DATA},
        {"a", "x\ny", FRE_E_DATA},
        {"a", "x\ry", FRE_E_DATA},
        {"a", "x\x01y", FRE_E_DATA},
        {"a", "x\x7fy", FRE_E_DATA},
    };
    static char long_text[FRE_BHTTP_VALUE_MAX + 1];
    uint8_t empty_name[] = {0x01, 0x40, 0xc8, 0x02, 0x00, 0x00};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_field(text(cases[i].name), text(cases[i].value), cases[i].want);
    check_field(view("a\0", 2), text("x"), FRE_E_DATA);
    check_field(text("a"), view("x\0y", 3), FRE_E_DATA);
    memset(long_text, 'a', sizeof long_text);
    check_field(view(long_text, FRE_BHTTP_NAME_MAX), text("x"), FRE_OK);
    check_field(view(long_text, FRE_BHTTP_NAME_MAX + 1), text("x"), FRE_E_LIMIT);
    check_field(text("a"), view(long_text, FRE_BHTTP_VALUE_MAX), FRE_OK);
    check_field(text("a"), view(long_text, FRE_BHTTP_VALUE_MAX + 1), FRE_E_LIMIT);
    check_bad(FRE_BHTTP_RESPONSE, view(empty_name, sizeof empty_name), FRE_E_DATA);
}

static void counts_are_limited(void **state)
{
    static uint8_t big[FRE_BHTTP_MESSAGE_MAX + 1];
    fre_bhttp m = {.kind = FRE_BHTTP_RESPONSE, .status = 200}, back;
    uint8_t informational[4 * (FRE_BHTTP_INFORMATIONAL_MAX + 1) + 4] = {1};
    size_t n = 1;
    fre_buf b;

    (void)state;
    fre_buf_init(&b, sizeof big);
    for (size_t i = 0; i < FRE_BHTTP_FIELDS_MAX; i++)
        m.header.at[i] = m.trailer.at[i] = field("a", "b");
    m.header.n = m.trailer.n = FRE_BHTTP_FIELDS_MAX;
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_OK);
    assert_int_equal(fre_bhttp_decode(&back, FRE_BHTTP_RESPONSE, view(b.p, b.n)), FRE_OK);
    assert_int_equal(back.header.n, FRE_BHTTP_FIELDS_MAX);
    assert_int_equal(back.trailer.n, FRE_BHTTP_FIELDS_MAX);
    fre_bhttp_wipe(&back);
    /* One more in the header: four bytes for it, and its section's length, 128, one higher. */
    memcpy(big, b.p, 3);
    big[3] = 0x40;
    big[4] = 4 * (FRE_BHTTP_FIELDS_MAX + 1);
    for (size_t i = 0; i < FRE_BHTTP_FIELDS_MAX + 1; i++)
        memcpy(big + 5 + 4 * i, "\1a\1b", 4);
    check_bad(FRE_BHTTP_RESPONSE, view(big, 5 + 4 * (FRE_BHTTP_FIELDS_MAX + 1)), FRE_E_LIMIT);
    m.header.n++;
    b.n = 0;
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_LIMIT);
    assert_int_equal(b.n, 0);
    fre_buf_wipe(&b);

    for (size_t i = 0; i <= FRE_BHTTP_INFORMATIONAL_MAX; i++) {
        memcpy(informational + n, "\x40\x66\x00", 3); /* 102, no field */
        n += 3;
        memcpy(informational + n, "\x40\xc8", 2);
        if (i < FRE_BHTTP_INFORMATIONAL_MAX) {
            assert_int_equal(
                fre_bhttp_decode(&back, FRE_BHTTP_RESPONSE, view(informational, n + 2)), FRE_OK);
            assert_int_equal(back.informational, i + 1);
            fre_bhttp_wipe(&back);
        } else {
            check_bad(FRE_BHTTP_RESPONSE, view(informational, n + 2), FRE_E_LIMIT);
        }
    }

    memset(big, 0, sizeof big);
    memcpy(big, "\x01\x40\xc8", 3);
    assert_int_equal(fre_bhttp_decode(&back, FRE_BHTTP_RESPONSE, view(big, FRE_BHTTP_MESSAGE_MAX)),
                     FRE_OK);
    fre_bhttp_wipe(&back);
    check_bad(FRE_BHTTP_RESPONSE, view(big, sizeof big), FRE_E_LIMIT);
}

/* Content around the lengths where an integer gets longer. */
static void contents_of_every_length(void **state)
{
    static const struct {
        size_t n, prefix;
    } lengths[] = {{1, 1}, {63, 1}, {64, 2}, {16383, 2}, {16384, 4}, {1u << 20, 4}};
    uint8_t *bytes = calloc(1, 1u << 20);
    fre_buf b;

    (void)state;
    assert_non_null(bytes);
    bytes[0] = 1;
    fre_buf_init(&b, 2u << 20);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fre_bhttp m = {.kind = FRE_BHTTP_RESPONSE, .status = 404}, back;

        m.content = view(bytes, lengths[i].n);
        b.n = 0;
        assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_OK);
        assert_int_equal(b.n, 4 + lengths[i].prefix + lengths[i].n);
        assert_int_equal(fre_bhttp_decode(&back, FRE_BHTTP_RESPONSE, view(b.p, b.n)), FRE_OK);
        assert_int_equal(back.status, 404);
        assert_bytes(back.content, m.content);
        fre_bhttp_wipe(&back);
    }
    fre_buf_wipe(&b);
    free(bytes);
}

static void encoding_refuses_what_decoding_would(void **state)
{
    fre_bhttp m = get_request();
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 1000);
    m.header.at[0] = field("Host", "upper case");
    m.header.n = 1;
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m.header.at[0] = field("a", "two\r\nlines");
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m.header.at[0] = field(":path", "/");
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m.header.n = 0;
    m.trailer.at[0] = field("", "x");
    m.trailer.n = 1;
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m.trailer.n = 0;
    m.content = view(NULL, 1);
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m = (fre_bhttp){.kind = FRE_BHTTP_RESPONSE, .status = 199};
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m.status = 600;
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    m.kind = (fre_bhttp_kind)7;
    assert_int_equal(fre_bhttp_encode(&b, &m, 0), FRE_E_ARG);
    assert_int_equal(fre_bhttp_encode(NULL, &m, 0), FRE_E_ARG);
    assert_int_equal(fre_bhttp_decode(&m, (fre_bhttp_kind)7, text("x")), FRE_E_ARG);
    assert_int_equal(fre_bhttp_decode(NULL, FRE_BHTTP_REQUEST, text("x")), FRE_E_ARG);
    assert_int_equal(b.n, 0);
    fre_buf_wipe(&b);
}

static void a_field_is_found_when_alone(void **state)
{
    fre_bhttp_fields f = {.n = 4};
    fre_bytes v = text("before");

    (void)state;
    f.at[0] = field("Content-Type", "message/bhttp");
    f.at[1] = field("age", "1");
    f.at[2] = field("Age", "2");
    f.at[3] = field("contenttype", "x");
    assert_false(fre_bhttp_find(&f, &v, "content-length"));
    assert_false(fre_bhttp_find(&f, &v, "age"));
    assert_false(fre_bhttp_find(&f, &v, "content-typ"));
    assert_bytes(v, text("before"));
    assert_true(fre_bhttp_find(&f, &v, "content-type"));
    assert_bytes(v, text("message/bhttp"));
    assert_false(fre_bhttp_find(NULL, &v, "age"));
}

/* ---- whatever is accepted has one meaning ------------------------------------------------------ */

static void assert_same(const fre_bhttp *a, const fre_bhttp *b)
{
    assert_bytes(a->method, b->method);
    assert_bytes(a->scheme, b->scheme);
    assert_bytes(a->authority, b->authority);
    assert_bytes(a->path, b->path);
    assert_int_equal(a->status, b->status);
    assert_bytes(a->content, b->content);
    assert_int_equal(a->header.n, b->header.n);
    assert_int_equal(a->trailer.n, b->trailer.n);
    for (size_t i = 0; i < a->header.n; i++)
        assert_bytes(a->header.at[i].value, b->header.at[i].value);
}

static void flipped_bits_never_confuse(void **state)
{
    static const char *const names[] = {"request-known", "request-indeterminate",
                                        "response-informational", "response-chunked"};
    size_t accepted = 0, refused = 0;

    (void)state;
    for (size_t e = 0; e < 4; e++) {
        hex_bytes in = example(names[e]);
        const fre_bhttp_kind kind = e < 2 ? FRE_BHTTP_REQUEST : FRE_BHTTP_RESPONSE;

        for (size_t bit = 0; bit < 8 * in.n; bit++) {
            fre_bhttp m, again;
            fre_status st;
            fre_buf b;

            in.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
            st = fre_bhttp_decode(&m, kind, bytes_of(&in));
            if (st != FRE_OK) {
                check_bad(kind, bytes_of(&in), st);
                assert_true(st == FRE_E_DATA || st == FRE_E_LIMIT);
                refused++;
            } else {
                fre_buf_init(&b, 4096);
                st = fre_bhttp_encode(&b, &m, 0);
                if (st == FRE_OK) { /* else: a letter of a name became upper case */
                    assert_int_equal(fre_bhttp_decode(&again, kind, view(b.p, b.n)), FRE_OK);
                    assert_same(&again, &m);
                    fre_bhttp_wipe(&again);
                    accepted++;
                } else {
                    assert_int_equal(st, FRE_E_ARG);
                }
                fre_buf_wipe(&b);
                fre_bhttp_wipe(&m);
            }
            in.b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    assert_true(accepted > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_follow_rfc_9292),
        cmocka_unit_test(responses_follow_rfc_9292),
        cmocka_unit_test(cuts_are_found),
        cmocka_unit_test(only_zeros_may_follow),
        cmocka_unit_test(padding_makes_one_size),
        cmocka_unit_test(integers_of_every_form),
        cmocka_unit_test(chunks_are_joined),
        cmocka_unit_test(targets_are_checked),
        cmocka_unit_test(lengths_are_limited),
        cmocka_unit_test(fields_are_checked),
        cmocka_unit_test(counts_are_limited),
        cmocka_unit_test(contents_of_every_length),
        cmocka_unit_test(encoding_refuses_what_decoding_would),
        cmocka_unit_test(a_field_is_found_when_alone),
        cmocka_unit_test(flipped_bits_never_confuse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
