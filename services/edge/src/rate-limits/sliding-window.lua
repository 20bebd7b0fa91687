-- A sliding log, exact in any window: one sorted-set member per request, scored by Redis's clock in microseconds.
-- KEYS[1]: bucket. ARGV[1]: limit. ARGV[2]: window in milliseconds. ARGV[3]: a member unique to the request.
-- Returns {allowed 0|1, remaining, milliseconds until all requests have left the window or, after a refusal, until the next request is allowed}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local limit, window = tonumber(ARGV[1]), ARGV[2] * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local count = redis.call('ZCARD', KEYS[1])
if count < limit then
  redis.call('ZADD', KEYS[1], now, ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return {1, limit - count - 1, tonumber(ARGV[2])}
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {0, 0, math.ceil((oldest[2] + window - now) / 1000)}
