#include "small_release.h"

#include <stdio.h>
#include <unistd.h>

fre_curator_opts small_release(const char *input, const char *output)
{
    fre_curator_opts o;

    fre_curator_opts_init(&o);
    o.input = input;
    o.output = output;
    o.inverter = "none";
    o.threads = 1;
    o.plan.epsilon = SMALL_EPSILON;
    o.plan.threshold = 40;
    o.plan.population = 1000;
    o.plan.proj = 20;
    o.plan.sampling_rate = .5;
    return o;
}

void remove_release(const char *folder)
{
    static const char *const names[] = {"release.json", "centroids.npy", "centroids.npy.json",
                                        "counts.npy", "synthetic.jsonl"};
    char path[1400];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}
