/** fre/contribution.h - who contributes what: which records count as whose, the rules of users and caps
 * that a privacy claim rests on, in one place for all that counts.
 *
 * Users come one record at a time, texts as the numbers that a map gives them (fre/map.h).
 * Everything is exact and PRIVATE.  Memory: 16 bytes and a slot a user with a name, and four a text that
 * one may have.  Threads: one thread at a time an object.  Source: docs/privacy.md, sec. 1.
 */
#ifndef FRE_CONTRIBUTION_H
#define FRE_CONTRIBUTION_H

#include <fre/core.h>
#include <fre/map.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Does a text of a user count?  The user's first `most` distinct texts do; which
 * these are does not depend on the projection, for the bound on far members adds up over records that
 * were chosen without it.  held: the user's texts so far, `most` slots, FRE_MAP_NONE where free; the
 * text is entered. */
FRE_API bool fre_contribution_counts(uint32_t *held, uint32_t most, uint32_t text);
/** Does a text that counts stand for its user in its cell of a level?  The first of the user's texts in
 * that cell does, and no other, whatever became of it at a level before: so it is fixed from what the user
 * holds alone (docs/decisions/0015).  cell_of[text * stride]: of this text and those before it. */
FRE_API bool fre_contribution_stands(const uint32_t *held, uint32_t most, uint32_t text,
                                     const uint32_t *cell_of, size_t stride);

typedef struct fre_contributors fre_contributors;

/** cells_per_user >= 1; population: users at most, 0: no bound.  FRE_E_NOMEM; FRE_E_INTERNAL: no
 * randomness. */
FRE_API FRE_MUST_CHECK fre_status fre_contributors_new(fre_contributors **out,
                                                       uint32_t cells_per_user,
                                                       uint64_t population, fre_err *err);
/** Wipes; NULL is allowed. */
FRE_API void fre_contributors_free(fre_contributors *c);

/** The user of the next record: those with a name are numbered from 0 in order of appearance; name NULL: a
 * user of its own, FRE_MAP_NONE.  is_new: whether it is its first record.
 * FRE_E_DATA: more users than the population, whatever their records hold (docs/formats.md says why
 * that is refused); FRE_E_NOMEM, FRE_E_LIMIT. */
FRE_API FRE_MUST_CHECK fre_status fre_contributors_user(fre_contributors *c, uint32_t *user,
                                                        bool *is_new, const char *name, size_t len,
                                                        fre_err *err);
/** That refusal: FRE_E_DATA. */
FRE_API fre_status fre_contributors_too_many(uint64_t population, fre_err *err);
/** Does the next text of this user count (fre_contribution_counts)?  Do not ask about blank ones: they use no
 * slot.  A user without a name has one record, which counts. */
FRE_API bool fre_contributors_accept(fre_contributors *c, uint32_t user, uint32_t text);
/** Does one that counts stand for its user in its cell of a level (fre_contribution_stands)? */
FRE_API bool fre_contributors_stand(const fre_contributors *c, uint32_t user, uint32_t text,
                                    const uint32_t *cell_of, size_t stride);
/** Those with a record so far. */
FRE_API uint64_t fre_contributors_users(const fre_contributors *c);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CONTRIBUTION_H */
