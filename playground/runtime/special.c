/* Functions of scipy.special that the package asks for, one number at a time. lgamma, erfc and the elementary ones are
 * those of the C library. Incomplete integrals by their series or continued fraction (Abramowitz and Stegun 6.5.29,
 * 6.5.31, 26.5.8), their inverses by Newton's steps inside a bracket. */
#include <math.h>

#define EPSILON 1e-16
#define TINY 1e-300
#define TERMS 100000

double digamma(double x) {
    double shift = 0;
    for (; x < 12; x += 1) shift -= 1 / x;
    const double y = 1 / (x * x);
    return shift + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
}

double trigamma(double x) {
    double shift = 0;
    for (; x < 14; x += 1) shift += 1 / (x * x);
    const double y = 1 / (x * x);
    return shift + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * 5 / 66))));
}

double gammaln(double x) { return lgamma(x); }

/* log x^a e^-x / Gamma(a + 1), by the deviance where a is large, so that no digits cancel. */
static double log_gamma_term(double a, double x) {
    if (a < 20) return a * log(x) - x - lgamma(a + 1);
    const double excess = (x - a) / a, y = 1 / (a * a);
    const double logarithm = fabs(excess) < 0.5 ? log1p(excess) : log(x / a);
    const double stirling = (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / a;
    return -a * (excess - logarithm) - 0.5 * log(2 * M_PI * a) - stirling;
}

static double gamma_series(double a, double x) {
    double term = 1, sum = 1;
    for (int n = 1; n < TERMS && term > EPSILON * sum; n++) sum += term *= x / (a + n);
    return sum * exp(log_gamma_term(a, x));
}

static double gamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1 / TINY, d = 1 / b, h = d;
    for (int n = 1; n < TERMS; n++) {
        const double an = -n * (n - a);
        b += 2;
        d = an * d + b, c = b + an / c;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        if (fabs(c) < TINY) c = TINY;
        h *= d * c;
        if (fabs(d * c - 1) < EPSILON * 10) break;
    }
    return h * a * exp(log_gamma_term(a, x));
}

double gammainc(double a, double x) {
    if (!(x > 0)) return x == 0 ? 0 : NAN;
    if (x == INFINITY) return 1;
    return x < a + 1 ? gamma_series(a, x) : 1 - gamma_fraction(a, x);
}

double gammaincc(double a, double x) {
    if (!(x > 0)) return x == 0 ? 1 : NAN;
    if (x == INFINITY) return 0;
    return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

double ndtr(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }

double ndtri(double p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    if (p > 0.5) return -ndtri(1 - p);
    const double t = sqrt(-2 * log(p)); /* Abramowitz and Stegun 26.2.23, then Newton's method on log Phi */
    double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int step = 0; step < 8; step++) {
        const double below = ndtr(x), move = log(below / p) * below / (exp(-0.5 * x * x) / sqrt(2 * M_PI));
        x -= move;
        if (fabs(move) < 1e-15 * fabs(x)) break;
    }
    return x;
}

/* log x^a (1 - x)^b / (a B(a, b)), the mean a / (a + b) written by deviances where both are large. */
static double log_beta_term(double a, double b, double x) {
    return lgamma(a + b) - lgamma(a + 1) - lgamma(b) + a * log(x) + b * log1p(-x);
}

static double beta_fraction(double a, double b, double x) {
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < TINY ? TINY : d);
    double h = d;
    for (int n = 1; n < TERMS; n++) {
        double an = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
        d = 1 + an * d, c = 1 + an / c;
        if (fabs(d) < TINY) d = TINY;
        if (fabs(c) < TINY) c = TINY;
        d = 1 / d, h *= d * c;
        an = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1));
        d = 1 + an * d, c = 1 + an / c;
        if (fabs(d) < TINY) d = TINY;
        if (fabs(c) < TINY) c = TINY;
        d = 1 / d, h *= d * c;
        if (fabs(d * c - 1) < EPSILON * 10) break;
    }
    return h * exp(log_beta_term(a, b, x));
}

double betainc(double a, double b, double x) {
    if (!(x > 0 && x < 1)) return x <= 0 ? 0 : x >= 1 ? 1 : NAN;
    return x < (a + 1) / (a + b + 2) ? beta_fraction(a, b, x) : 1 - beta_fraction(b, a, 1 - x);
}

double betaincc(double a, double b, double x) {
    if (!(x > 0 && x < 1)) return x <= 0 ? 1 : x >= 1 ? 0 : NAN;
    return x < (a + 1) / (a + b + 2) ? 1 - beta_fraction(a, b, x) : beta_fraction(b, a, 1 - x);
}

/* The root of a rising function of log x or x between 0 and `high`: Newton's steps where they stay inside. */
double gammaincinv(double a, double q) {
    if (!(q > 0 && q < 1)) return q == 0 ? 0 : q == 1 ? INFINITY : NAN;
    /* Wilson and Hilferty; where that fails, the leading term of the series. */
    const double z = ndtri(q), t = 1 - 1 / (9 * a) + z / (3 * sqrt(a));
    double x = t > 0.2 ? a * t * t * t : exp((log(q) + lgamma(a + 1)) / a), low = 0, high = INFINITY;
    if (x < TINY) return x; /* smaller than its rounding error */
    for (int step = 0; step < 200; step++) {
        const double off = gammainc(a, x) - q;
        if (off > 0) high = x;
        else low = x;
        const double slope = exp(log_gamma_term(a, x)) * a / x;
        double next = x - off / slope;
        if (!(next > low && next < high)) next = high < INFINITY ? 0.5 * (low + high) : 2 * x;
        const double move = fabs(next - x);
        x = next;
        if (move <= 2e-16 * x || (high < INFINITY && high - low <= 2e-16 * high)) break;
    }
    return x;
}

double betaincinv(double a, double b, double q) {
    if (!(q > 0 && q < 1)) return q == 0 ? 0 : q == 1 ? 1 : NAN;
    double x = a / (a + b), low = 0, high = 1;
    for (int step = 0; step < 300; step++) {
        const double off = betainc(a, b, x) - q;
        if (off > 0) high = x;
        else low = x;
        const double slope = exp(log_beta_term(a, b, x)) * a / (x * (1 - x));
        double next = x - off / slope;
        if (!(next > low && next < high)) next = low > 0 ? sqrt(low * high) : high > 1e-3 ? 0.5 * high : high * 1e-3;
        const double move = fabs(next - x);
        x = next;
        if (move <= 2e-16 * x || high - low <= 2e-16 * high || high < TINY) break;
    }
    return x;
}
