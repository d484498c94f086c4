# Two linear regressions, with constant gates and behind a softmax gate, by R's flexmix (2.3-18): no priors.
# `Rscript flexmix.R` prints the constants of test_mixtures.py.
library(flexmix)
i <- 0:149
chance <- function(seed) { u <- sin((i + 1) * seed) * 43758.5453; u - floor(u) }
x <- 2 * chance(12.9898) - 1
noise <- 0.5 * (chance(78.233) + chance(37.719) + chance(4.581) - 1.5)
control <- list(iter.max = 20000, tolerance = 1e-15, minprior = 0)
show <- function(fit) {
  cat(sprintf("%.10f", logLik(fit)), "\n")
  cat(sprintf("%.10f", parameters(fit)), "\n")
  cat(sprintf("%.10f", prior(fit)), "\n")
}
# constant gates: a third of the rows on one line, the others on another
first <- chance(2.345) < 1 / 3
y <- ifelse(first, 1 + 2 * x, -0.5 - 1.5 * x) + noise
show(flexmix(y ~ x, k = 2, cluster = ifelse(first, 1, 2), control = control))
# a gate that depends on x
first <- chance(2.345) < 1 / (1 + exp(-4 * x))
y <- ifelse(first, 1 + 2 * x, -0.5 - 1.5 * x) + noise
fit <- flexmix(y ~ x, k = 2, cluster = ifelse(first, 1, 2), concomitant = FLXPmultinom(~x), control = control)
show(fit)
cat(sprintf("%.10f", parameters(fit, which = "concomitant")), "\n")
