/** fre/param.h - what a parameter may be: its range, default and unit, said once.
 *
 * Whoever checks a number, reads it from a command line or explains it reads the same entry: the
 * library's checks, the program's arguments and its --help, other languages.  Entries are static
 * and constant; a module declares its own in its header (the mechanism's: fre/privacy.h).  A value
 * for which a header has a meaning of its own, such as 0 for auto, is outside the range and not
 * checked.
 */
#ifndef FRE_PARAM_H
#define FRE_PARAM_H

#include <fre/core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fre_param {
    const char *name; /**< as errors name it: "{name}" */
    const char *unit; /**< NULL: a plain number */
    const char
        *preset_text; /**< the default as people write it, such as "0.5" or "auto"; NULL: none */
    double preset;    /**< the same; 0 for "auto" and for none */
    double lowest, highest;
    bool above, below; /**< that end of the range is not part of it */
    bool whole;        /**< a whole number; its ends are below 2^53 */
} fre_param;

/** For an entry's initialiser: the default as a number and as it is written. */
#define FRE_PARAM_PRESET(number) .preset = (number), .preset_text = #number
#define FRE_PARAM_AUTO .preset_text = "auto"

/** Is the value in the range?  NaN never is.  That a number is whole is not looked at. */
FRE_API bool fre_param_holds(const fre_param *p, double value);
/** FRE_E_USAGE where it is not: "{sigma} must be a number above 0 and at most 1000000000000". */
FRE_API FRE_MUST_CHECK fre_status fre_param_check(const fre_param *p, double value, fre_err *err);

typedef struct fre_param_value {
    const fre_param *param;
    double value;
} fre_param_value;
/** The first of n values that is out of its range. */
FRE_API FRE_MUST_CHECK fre_status fre_param_check_all(const fre_param_value *v, size_t n,
                                                      fre_err *err);
/** The same where 0 stands for a default, and is not checked. */
FRE_API FRE_MUST_CHECK fre_status fre_param_check_given(const fre_param_value *v, size_t n,
                                                        fre_err *err);

#define FRE_PARAM_RANGE_BYTES 96u
/** "above 0 and at most 50", "from 1 to 64", "at least 0"; returns out. */
FRE_API char *fre_param_range(char out[FRE_PARAM_RANGE_BYTES], const fre_param *p);

/** Whatever works on several threads takes this many. */
FRE_API extern const fre_param fre_param_threads;

#ifdef __cplusplus
}
#endif
#endif /* FRE_PARAM_H */
