"""Apache Spark: counts where a table lives."""
