/* Pr[Bin(n, p) = j] by products, for tests; 0 outside 0..n. */
#ifndef FRE_TESTS_BINOMIAL_H
#define FRE_TESTS_BINOMIAL_H

double binomial(int n, int j, double p);

#endif /* FRE_TESTS_BINOMIAL_H */
