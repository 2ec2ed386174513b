"""The tests: folders mirror the packages, `reference` holds slow obvious twins, `support` what tests share."""
