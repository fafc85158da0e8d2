/* The statement of the distributed mode: who learns what by joining whom. */
#include <fre/privacy.h>

fre_status fre_plan_parties(fre_buf *out, const fre_mechanism *m)
{
    static const char one[] = "Every embedding leaves its device, encrypted in two parts.\n";
    static const char two[] = "An embedding leaves its device, encrypted in two parts, only once "
                              "its cell is listed.  A user "
                              "whose share is missing from a released cell is not protected "
                              "towards whoever knows that it is "
                              "missing.\n";
    static const char people[] =
        "Whoever decides who is a person can learn whether a person of its choice holds a text "
        "that it guesses, by inventing tau - 1 people around them; with the relay, without "
        "inventing anybody; and so can the tagging server with it.\n"
        "The synthesis server with any participant, one is enough, learns how many hold each text "
        "that they guess; with the relay too, who.\n";
    const char *of_whom = m->dist.server_noise ? "one server's noise" : "one person's noise";
    fre_status st;

    if (!m->dist.on)
        return FRE_OK;
    st = fre_buf_append(out, people, sizeof people - 1);
    if (st != FRE_OK)
        return st;
    st = fre_buf_printf(out,
                        "The synthesis server with whoever decides who is a person sees single "
                        "embeddings under %s; both servers together see all but names.\n",
                        of_whom);
    if (st != FRE_OK)
        return st;
    return m->dist.one_contact ? fre_buf_append(out, one, sizeof one - 1)
                               : fre_buf_append(out, two, sizeof two - 1);
}
