"""Losses L(y, s) of gradient boosting and AnyBoost: one object each, for named losses and for functions of users."""
