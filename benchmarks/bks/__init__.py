"""SVM-BKS: best known values and proven bounds of hard-margin loss (0-1 loss) instances."""
