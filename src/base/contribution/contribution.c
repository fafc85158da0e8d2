/* contribution.c - see fre/contribution.h. */
#include <fre/contribution.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct fre_contributors {
    uint32_t most;
    uint64_t population; /* 0: no bound */
    uint64_t nameless;   /* users, one a record */
    fre_text_map names;
    uint32_t *held; /* `most` texts of each user with a name */
    size_t cap_held;
};

bool fre_contribution_counts(uint32_t *held, uint32_t most, uint32_t text)
{
    uint32_t i = 0;

    for (; i < most && held[i] != FRE_MAP_NONE; i++)
        if (held[i] == text)
            return false;
    if (i == most)
        return false;
    held[i] = text;
    return true;
}

bool fre_contribution_stands(const uint32_t *held, uint32_t most, uint32_t text,
                             const uint32_t *cell_of, size_t stride)
{
    for (uint32_t i = 0; i < most && held[i] != FRE_MAP_NONE && held[i] != text; i++)
        if (cell_of[held[i] * stride] == cell_of[text * stride])
            return false;
    return true;
}

fre_status fre_contributors_new(fre_contributors **out, uint32_t cells_per_user,
                                uint64_t population, fre_err *err)
{
    fre_contributors *c = calloc(1, sizeof *c);
    fre_status st;

    if (!c)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    c->most = cells_per_user;
    c->population = population;
    st = fre_text_map_init(&c->names);
    if (st != FRE_OK) {
        fre_contributors_free(c);
        return fre_fail(err, st, "%s before the users are told apart", fre_status_text(st));
    }
    *out = c;
    return FRE_OK;
}

void fre_contributors_free(fre_contributors *c)
{
    if (!c)
        return;
    fre_text_map_wipe(&c->names);
    fre_wipe_free(c->held, c->cap_held * sizeof *c->held);
    fre_wipe(c, sizeof *c);
    free(c);
}

static fre_status find_user(fre_contributors *c, uint32_t *user, bool *is_new, const char *name,
                            size_t len)
{
    const size_t most = c->most;
    /* Room before there is one more user. */
    fre_status st = fre_grow((void **)&c->held, &c->cap_held, ((size_t)c->names.map.n + 1) * most,
                             sizeof *c->held);

    if (st == FRE_OK)
        st = fre_text_map_put(&c->names, user, is_new, name, len);
    for (size_t i = 0; st == FRE_OK && *is_new && i < most; i++)
        c->held[*user * most + i] = FRE_MAP_NONE;
    return st;
}

fre_status fre_contributors_too_many(uint64_t population, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "the input has more users than {population} %" PRIu64
                    ", so the privacy statement would be false; state a larger {population}",
                    population);
}

fre_status fre_contributors_user(fre_contributors *c, uint32_t *user, bool *is_new,
                                 const char *name, size_t len, fre_err *err)
{
    fre_status st = FRE_OK;

    *is_new = true;
    *user = FRE_MAP_NONE;
    if (name)
        st = find_user(c, user, is_new, name, len);
    else
        c->nameless++;
    if (st != FRE_OK)
        return fre_fail(err, st, "%s while keeping the users apart", fre_status_text(st));
    return c->population && fre_contributors_users(c) > c->population
               ? fre_contributors_too_many(c->population, err)
               : FRE_OK;
}

bool fre_contributors_accept(fre_contributors *c, uint32_t user, uint32_t text)
{
    return user == FRE_MAP_NONE ||
           fre_contribution_counts(c->held + (size_t)user * c->most, c->most, text);
}

bool fre_contributors_stand(const fre_contributors *c, uint32_t user, uint32_t text,
                            const uint32_t *cell_of, size_t stride)
{
    return user == FRE_MAP_NONE || fre_contribution_stands(c->held + (size_t)user * c->most,
                                                           c->most, text, cell_of, stride);
}

uint64_t fre_contributors_users(const fre_contributors *c)
{
    return c->names.map.n + c->nameless;
}
