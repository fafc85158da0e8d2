/* choice.c - what the name of an inverter says. */
#include <fre/invert.h>

#include <string.h>

bool fre_inverter_writes_text(const char *inverter)
{
    return !inverter || strcmp(inverter, "none") != 0;
}
