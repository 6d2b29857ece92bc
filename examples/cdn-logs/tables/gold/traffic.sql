SELECT
  day, edge, path, country, status, count(*) AS requests, sum(bytes) AS bytes,
  round(try_divide(count_if(result = 'Hit' AND method != 'POST'),
    count_if(method != 'POST' AND status BETWEEN 200 AND 399)), 3) AS hit_ratio,
  count_if(status >= 400) AS errors,
  round(percentile(seconds, 0.5), 3) AS p50, round(percentile(seconds, 0.95), 3) AS p95,
  round(percentile(seconds, 0.99), 3) AS p99
FROM silver.requests
GROUP BY day, edge, path, country, status
