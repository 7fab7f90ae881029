// Matrices that are filled from both sides: rows are 400 long, counters begin at each other.
void symmetric(int n, int m, double c[][400], double d[][400]) {
  for (int i = 0; i < m; i++) //: parallel
    for (int j = i; j < m; j++) { //: parallel
      c[i][j] = 0.0;
      for (int k = 0; k < n; k++) //: reduction
        c[i][j] += d[k][i] * d[k][j];
      c[j][i] = c[i][j];
    }
}
void symmetric_above(int n, int m, double c[][400], double d[][400]) {
  for (int i = 0; i < m - 1; i++) { //: parallel
    c[i][i] = 1.0;
    for (int j = i + 1; j < m; j++) { //: parallel
      c[i][j] = d[i][j] * 0.5;
      c[j][i] = c[i][j];
    }
  }
}
void transposed_onto_itself(int m, double c[][400]) {
  for (int i = 0; i < m; i++) //: sequential
    for (int j = 0; j < m; j++) //: parallel
      c[j][i] = c[i][j] + 1.0;
}
