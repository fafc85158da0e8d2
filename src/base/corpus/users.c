/* Inputs of users: an array of rows with its file of names, or texts. */
#include "corpus_private.h"

fre_status fre_npy_open_users(fre_npy **out, fre_input *in, const fre_corpus_opts *opts,
                              const char *user_file, fre_err *err)
{
    if (opts->user_field && !user_file) {
        fre_input_free(in);
        return fre_fail(
            err, FRE_E_USAGE,
            "a .npy file has no fields: name the file with its users, {user_file} FILE");
    }
    return fre_npy_open_input(
        out, in, user_file ? &(fre_corpus_opts){.text_field = opts->text_field} : opts, err);
}

fre_status fre_names_open_rows(fre_names **out, const fre_npy *rows, const char *user_file,
                               const fre_corpus_opts *opts, fre_err *err)
{
    fre_status st = user_file ? fre_names_open(out, user_file, opts, err) : FRE_OK;

    return st == FRE_OK && user_file ? fre_names_check(*out, fre_npy_rows(rows), err) : st;
}

fre_status fre_corpus_open_users(fre_corpus **out, fre_input *in, const fre_corpus_opts *opts,
                                 const char *user_file, fre_err *err)
{
    if (user_file) {
        fre_input_free(in);
        return fre_fail(err, FRE_E_USAGE,
                        "{user_file} is for a .npy file: texts have a field with their user, "
                        "{user_field} F");
    }
    return fre_corpus_open_input(out, in, opts, err);
}
