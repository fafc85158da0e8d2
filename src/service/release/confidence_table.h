/* confidence_table.h - made by tools/experiments/confidence.py, of public text; not for editing:
 *   tools/experiments/confidence.py DATA --table FILE
 */
#define CONFIDENCE_DECODER "f6757543bdfb8d99141a44de343bb64726bbdaa88cd0812781f437c5ebc6c5b5"
#define CONFIDENCE_TRAITS 7u

static const double confidence_same[CONFIDENCE_TRAITS] = {
    8.45075982,   /* 1 */
    -0.940766953, /* noise */
    0.0946779602, /* squared distance beyond the noise */
    -4.6113941,   /* its root */
    -25.1016576,  /* 1 - similarity */
    0.509758984,  /* ln share */
    -1.34347591,  /* ln words */
};
static const double confidence_exact[CONFIDENCE_TRAITS] = {
    7.53807993,   /* 1 */
    -0.571651456, /* noise */
    0.0349672047, /* squared distance beyond the noise */
    -5.70455882,  /* its root */
    -24.1553193,  /* 1 - similarity */
    0.268363005,  /* ln share */
    -2.48281932,  /* ln words */
};
