require('./limits.cjs')
