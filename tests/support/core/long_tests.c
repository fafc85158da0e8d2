#include "long_tests.h"

#include <stdlib.h>

bool long_tests(void)
{
    return getenv("FRE_LONG_TESTS") != NULL;
}
