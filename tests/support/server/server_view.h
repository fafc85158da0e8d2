/* server_view.h - what a cheating S_syn sees, and messages under keys of whoever cheats. */
#ifndef FRE_TEST_SERVER_VIEW_H
#define FRE_TEST_SERVER_VIEW_H

#include "server_net.h"

/* An entry as S_syn opens it; packed is a copy. */
typedef struct view_entry {
    fre_entry e;
    uint8_t packed[8 * NET_DIM];
} view_entry;
typedef struct view {
    view_entry *at;
    size_t n, cap;
} view;
void view_wipe(view *v);
/* Opens all of a mixed or collected message into v. */
void view_batch(view *v, const net *n, fre_wire_type type, fre_bytes message);
/* By tag and id, for the members of one tag in front: returns how many, at most max. */
uint32_t view_members(const view *v, const fre_tag *tag, fre_vouch_member *m,
                      fre_sealed_entry_seed *seed, uint32_t max);
/* The tag of cluster k's cell. */
fre_tag view_tag(const net *n, uint32_t cluster);

/* An entry under this tag that nobody vouches for, sealed: without its head. */
void view_forge(net *n, const fre_tag *tag, fre_buf *sealed);
/* A batch of one part under that type's key: these bytes. */
void view_make_batch(net *n, fre_wire_type type, fre_bytes sealed, fre_buf *out);

/* One message to a role; the rejection, or FRE_ACCEPTED and the answer in *out (may be NULL). */
fre_rejection view_send(net *n, fre_role to, fre_bytes message, fre_buf *out);

#endif /* FRE_TEST_SERVER_VIEW_H */
