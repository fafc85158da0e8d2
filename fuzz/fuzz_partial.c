/* Tasks and parts out of any bytes: refused, or they are what is written again, and adding one changes all or
 * nothing.  The first byte says what the rest is: a task, or a part of the counts, or of the sums; with an odd
 * one the checksum is put right first, which a fuzzer cannot guess. */
#include <fre/partial.h>

#include <stdlib.h>
#include <string.h>

#include "must.h"
#include "partial_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static fre_buf task[2], part[2];

static void start(void)
{
    task[0] = sample_counts();
    task[1] = sample_sums();
    for (size_t i = 0; i < 2; i++)
        part[i] = sample_part(sample_view(&task[i]), UINT64_MAX, 0, SAMPLE_USERS);
}

static void put_right(fre_buf *b)
{
    fre_sha256 h;

    if (b->n < FRE_HASH_BYTES)
        return;
    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, b->p, b->n - FRE_HASH_BYTES);
    fre_sha256_end(b->p + b->n - FRE_HASH_BYTES, &h);
}

static void must_be(const fre_buf *a, const fre_buf *b)
{
    must(a->n == b->n && memcmp(a->p, b->p, a->n) == 0);
}

static void as_task(const fre_buf *in)
{
    fre_partial_task t;
    fre_buf again;
    const fre_status st = fre_partial_task_decode(&t, sample_view(in), NULL);

    must(st == FRE_OK || st == FRE_E_DATA);
    if (st != FRE_OK)
        return;
    fre_buf_init(&again, FRE_PARTIAL_BYTES_MAX);
    must(fre_partial_task_encode(&again, &t) == FRE_OK);
    must_be(&again, in);
    fre_buf_wipe(&again);
    fre_partial_task_wipe(&t);
}

static void bytes_of(fre_buf *out, const fre_partial *p)
{
    fre_buf_init(out, FRE_PARTIAL_BYTES_MAX);
    must(fre_partial_encode(out, p) == FRE_OK);
}

/* Never twice; closed, it comes back as it is. */
static void as_it_came(fre_partial *p, const fre_buf *in, size_t of)
{
    fre_buf after, again;
    fre_status st;

    bytes_of(&after, p);
    must_be(&after, in);
    fre_buf_wipe(&after);
    must(fre_partial_add(p, sample_view(in), NULL) == FRE_E_DATA);
    st = fre_partial_close(p, 1, NULL);
    must(st == FRE_OK || st == FRE_E_DATA || st == FRE_E_ARG);
    bytes_of(&after, p);
    fre_partial_free(p);
    must(fre_partial_new(&p, sample_view(&task[of]), NULL) == FRE_OK);
    must(fre_partial_add(p, sample_view(&after), NULL) == FRE_OK);
    bytes_of(&again, p);
    must_be(&again, &after);
    fre_buf_wipe(&after);
    fre_buf_wipe(&again);
    fre_partial_free(p);
}

/* To nothing, then to a part that is there. */
static void as_part(const fre_buf *in, size_t of)
{
    fre_partial *p = NULL;
    fre_buf before, after;
    fre_status st;

    must(fre_partial_new(&p, sample_view(&task[of]), NULL) == FRE_OK);
    st = fre_partial_add(p, sample_view(in), NULL);
    must(st == FRE_OK || st == FRE_E_DATA || st == FRE_E_LIMIT);
    if (st == FRE_OK)
        as_it_came(p, in, of);
    else
        fre_partial_free(p);
    must(fre_partial_new(&p, sample_view(&task[of]), NULL) == FRE_OK);
    must(fre_partial_add(p, sample_view(&part[of]), NULL) == FRE_OK);
    bytes_of(&before, p);
    st = fre_partial_add(p, sample_view(in), NULL);
    must(st == FRE_OK || st == FRE_E_DATA || st == FRE_E_LIMIT);
    bytes_of(&after, p);
    if (st != FRE_OK)
        must_be(&after, &before);
    fre_buf_wipe(&before);
    fre_buf_wipe(&after);
    fre_partial_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fre_buf in;

    if (size == 0)
        return 0;
    if (!task[0].p)
        start();
    fre_buf_init(&in, FRE_PARTIAL_BYTES_MAX);
    must(fre_buf_append(&in, data + 1, size - 1) == FRE_OK);
    if (data[0] % 2 == 1)
        put_right(&in);
    if (data[0] / 2 % 3 == 0)
        as_task(&in);
    else
        as_part(&in, data[0] / 2 % 3 - 1);
    fre_buf_wipe(&in);
    return 0;
}
