# Out-of-bag errors and importances of R's randomForest and ranger, the figures of test_forests_r.py.
#
#   COMMITTEE_DATA=folder Rscript tests/parity/forests.R errors [set ...]     # all sets without names
#   COMMITTEE_DATA=folder Rscript tests/parity/forests.R importances [set ...]
#
# Both with their defaults and 500 trees, seeds 1 to 10. Texts are factors, which both packages split into any groups
# (ranger when told so); rows with a missing value are left out, for randomForest takes none.
suppressMessages({library(randomForest); library(ranger)})

sets <- list(
  c("sonar", "sonar.csv", "Class", "class"), c("ionosphere", "ionosphere.csv", "Class", "class"),
  c("pima_diabetes", "pima_diabetes.csv", "diabetes", "class"), c("glass", "glass.csv", "Type", "class"),
  c("vehicle", "vehicle.csv", "Class", "class"), c("spam", "spambase.csv.gz", "spam", "class"),
  c("german_credit", "german_credit.csv", "class", "class"), c("wdbc", "wdbc.csv", "target", "class"),
  c("iris", "iris.csv", "target", "class"), c("soybean", "soybean.csv", "Class", "class"),
  c("segment", "segment.csv", "class", "class"), c("ozone", "ozone_la.csv", "V4", "value"),
  c("boston_housing", "boston_housing.csv", "medv", "value"), c("concrete", "concrete.csv", "y", "value"),
  c("abalone", "abalone.csv", "Rings", "value"), c("autompg", "autompg.csv", "y", "value"),
  c("yacht", "yacht.csv", "y", "value"))

read_set <- function(set) {
  frame <- read.csv(file.path(Sys.getenv("COMMITTEE_DATA"), set[2]), stringsAsFactors = TRUE)
  frame <- frame[complete.cases(frame), ]
  target <- frame[[make.names(set[3])]]
  frame[[make.names(set[3])]] <- NULL
  list(x = frame, y = if (set[4] == "class") factor(target) else target)
}

by_randomForest <- function(x, y, seed) {
  set.seed(seed)
  forest <- randomForest(x, y, ntree = 500)
  if (is.factor(y)) forest$err.rate[500, "OOB"] else forest$mse[500]
}

by_ranger <- function(x, y, seed) {
  ranger(x = x, y = y, num.trees = 500, num.threads = 1, seed = seed,
         respect.unordered.factors = "partition", verbose = FALSE)$prediction.error
}

errors <- function(sets) {
  cat("set,rows,randomForest,sd,ranger,sd\n")
  for (set in sets) {
    data <- read_set(set)
    found <- sapply(1:10, function(seed) c(by_randomForest(data$x, data$y, seed), by_ranger(data$x, data$y, seed)))
    figures <- c(mean(found[1, ]), sd(found[1, ]), mean(found[2, ]), sd(found[2, ]))
    cat(set[1], nrow(data$x), sprintf("%.5g", figures), sep = ",")
    cat("\n")
  }
}

importances <- function(sets) {
  cat("set,seed,feature,MeanDecreaseAccuracy,MeanDecreaseGini\n")
  for (set in sets) for (seed in 1:10) {
    data <- read_set(set)
    set.seed(seed)
    forest <- randomForest(data$x, data$y, ntree = 500, importance = TRUE)
    found <- forest$importance[, c("MeanDecreaseAccuracy", "MeanDecreaseGini")]  # not divided by standard errors
    cat(sprintf("%s,%d,%d,%.5g,%.5g\n", set[1], seed, seq_len(nrow(found)), found[, 1], found[, 2]), sep = "")
  }
}

asked <- commandArgs(trailingOnly = TRUE)
chosen <- Filter(function(set) length(asked) < 2 || set[1] %in% asked[-1], sets)
if (asked[1] == "importances") importances(chosen) else errors(chosen)
