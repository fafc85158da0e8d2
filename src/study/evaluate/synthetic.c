/* The synthetic texts: a release's (with paraphrases), or any corpus. */
#include "evaluate_private.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utf8proc.h>

#define ARENA_MAX (size_t)(UINT64_C(1) << 34)
#define NO_MEMORY "out of memory for the synthetic texts"

bool evaluate_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

const char *evaluate_synthetic_text(const evaluate_synthetic *s, size_t i)
{
    return (const char *)s->arena.p + s->place.offset[i];
}

void evaluate_synthetic_wipe(evaluate_synthetic *s)
{
    fre_buf_wipe(&s->arena);
    free(s->place.offset);
    free(s->place.len);
    free(s->place.owner);
    *s = (evaluate_synthetic){.n_texts = 0};
}

static fre_status add_place(evaluate_places *p, size_t offset, size_t len, size_t owner)
{
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 256;
        size_t *offsets = realloc(p->offset, cap * sizeof *offsets), *lens, *owners;
        if (!offsets)
            return FRE_E_NOMEM;
        p->offset = offsets;
        lens = realloc(p->len, cap * sizeof *lens);
        if (!lens)
            return FRE_E_NOMEM;
        p->len = lens;
        owners = realloc(p->owner, cap * sizeof *owners);
        if (!owners)
            return FRE_E_NOMEM;
        p->owner = owners;
        p->cap = cap;
    }
    p->offset[p->n] = offset;
    p->owner[p->n] = owner;
    p->len[p->n++] = len;
    return FRE_OK;
}

/* Nothing but spaces, controls and what cannot be seen. */
static bool is_blank(const char *text, size_t len)
{
    utf8proc_ssize_t used;
    utf8proc_int32_t c;

    for (; len > 0; text += used, len -= (size_t)used) {
        const char *kind;

        used = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &c);
        if (used <= 0)
            return false;
        kind = utf8proc_category_string(c);
        if (kind[0] != 'Z' && strcmp(kind, "Cc") != 0 && strcmp(kind, "Cf") != 0)
            return false;
    }
    return true;
}

/* Into the arena, its place into `places`. */
static fre_status add_text(evaluate_synthetic *s, evaluate_places *places, const char *text,
                           size_t len, size_t owner)
{
    size_t offset = s->arena.n;
    fre_status st = fre_buf_append(&s->arena, text, len);

    if (st == FRE_OK)
        st = fre_buf_append(&s->arena, "", 1);
    return st == FRE_OK ? add_place(places, offset, len, owner) : st;
}

static fre_status append_paraphrases(evaluate_synthetic *s, const evaluate_places *more)
{
    fre_status st = FRE_OK;

    s->n_texts = s->place.n;
    for (size_t i = 0; st == FRE_OK && i < more->n; i++)
        st = add_place(&s->place, more->offset[i], more->len[i], more->owner[i]);
    return st;
}

/* The strings of a list that are not blank. */
static fre_status add_paraphrases(evaluate_synthetic *s, evaluate_places *more,
                                  const fre_json_want *list, size_t owner)
{
    json_error_t where = {.line = 0};
    json_t *o = json_loadb((const char *)list->p, list->n, JSON_DECODE_INT_AS_REAL, &where), *item;
    fre_status st = !o && where.line < 0 ? FRE_E_NOMEM : FRE_OK;
    size_t i;

    json_array_foreach(o, i, item)
    {
        /* A line without a text of any use counts against the release; a further wording that is
         * none is simply not there. */
        if (st == FRE_OK && json_is_string(item) &&
            !is_blank(json_string_value(item), json_string_length(item)))
            st = add_text(s, more, json_string_value(item), json_string_length(item), owner);
    }
    json_decref(o);
    return st;
}

/* {"text": string or null, "paraphrases": [strings], ...} */
static fre_status add_record(evaluate_synthetic *s, evaluate_places *more, const fre_record *rec,
                             fre_err *err)
{
    fre_json_want want = {.name = "paraphrases"};
    size_t at = 0;
    fre_status st = FRE_OK;

    s->lines++;
    if (rec->text)
        st = add_text(s, &s->place, rec->text, rec->text_len, s->place.n);
    if (st == FRE_OK && rec->json &&
        !fre_json_scan((uint8_t *)rec->json, rec->json_len, &want, 1, &at) &&
        want.kind == FRE_JSON_ARRAY)
        st = add_paraphrases(s, more, &want, rec->text ? s->place.n - 1 : SIZE_MAX);
    return st == FRE_OK ? st : fre_fail(err, st, NO_MEMORY);
}

static fre_status load(evaluate_synthetic *s, const char *path, fre_err *err)
{
    const fre_corpus_opts opts = {.keep_json = true, .empty_ok = true}; /* a release of no cell */
    evaluate_places more = {.n = 0};
    fre_corpus *c = NULL;
    fre_record rec;
    bool go_on = true;
    fre_err why = {.text = ""};
    fre_status st = fre_corpus_open(&c, path, &opts, &why);

    while (st == FRE_OK) {
        st = fre_corpus_next(c, &go_on, &rec, &why);
        if (st != FRE_OK || !go_on)
            break;
        st = add_record(s, &more, &rec, &why);
    }
    if (st == FRE_OK && append_paraphrases(s, &more) != FRE_OK)
        st = fre_fail(&why, FRE_E_NOMEM, NO_MEMORY);
    free(more.offset);
    free(more.len);
    free(more.owner);
    fre_corpus_free(c);
    return st == FRE_OK ? st : fre_fail(err, st, "%s", why.text);
}

fre_status evaluate_synthetic_of(evaluate_synthetic *out, const fre_release *r, fre_err *err)
{
    evaluate_synthetic s = {.lines = r->n};
    evaluate_places more = {.n = 0};
    fre_status st = FRE_OK;

    fre_buf_init(&s.arena, ARENA_MAX);
    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        const fre_inversion *v = &r->cell[i].text;

        if (v->text)
            st = add_text(&s, &s.place, v->text, strlen(v->text), s.place.n);
        for (size_t j = 0; st == FRE_OK && j < v->n_paraphrases; j++)
            if (!is_blank(v->paraphrases[j], strlen(v->paraphrases[j])))
                st = add_text(&s, &more, v->paraphrases[j], strlen(v->paraphrases[j]),
                              v->text ? s.place.n - 1 : SIZE_MAX);
    }
    if (st == FRE_OK)
        st = append_paraphrases(&s, &more);
    free(more.offset);
    free(more.len);
    free(more.owner);
    if (st != FRE_OK) {
        evaluate_synthetic_wipe(&s);
        return fre_fail(err, st, NO_MEMORY);
    }
    *out = s;
    return FRE_OK;
}

static fre_status load_folder(evaluate_synthetic *out, const char *folder, fre_err *err)
{
    fre_release r;
    fre_status st = fre_release_read(&r, folder, err);

    if (st != FRE_OK)
        return st;
    st = evaluate_synthetic_of(out, &r, err);
    fre_release_wipe(&r);
    return st;
}

fre_status evaluate_synthetic_load(evaluate_synthetic *out, const char *path, fre_err *err)
{
    evaluate_synthetic s = {.n_texts = 0};
    fre_status st;

    if (evaluate_is_folder(path))
        return load_folder(out, path, err);
    fre_buf_init(&s.arena, ARENA_MAX);
    st = load(&s, path, err);
    if (st != FRE_OK) {
        evaluate_synthetic_wipe(&s);
        return st;
    }
    *out = s;
    return FRE_OK;
}
