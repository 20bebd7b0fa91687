-- A sliding log, exact in any window: one sorted-set member per request, scored by Redis's clock in microseconds. A request counts in each of
-- its buckets if every one of them allows it, and in none otherwise.
-- KEYS: the buckets. ARGV[1]: window in milliseconds. ARGV[2]: the request's id, which counts once in a bucket. ARGV[3…]: the limit of each bucket.
-- Returns {number of the refusing bucket or 0, remaining, milliseconds until all requests have left the window or, after a refusal, until the
-- next request is allowed}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = ARGV[1] * 1000
local refusing, remaining, wait = 0, math.huge, 0
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  local over = redis.call('ZCARD', key) - ARGV[i + 2]
  remaining = math.min(remaining, -over - 1)
  if over >= 0 and not redis.call('ZSCORE', key, ARGV[2]) then
    -- If the limit was lowered, more than the oldest request must leave the window.
    local leaving = redis.call('ZRANGE', key, over, over, 'WITHSCORES')
    local untilNext = math.ceil((leaving[2] + window - now) / 1000)
    if untilNext > wait then refusing, wait = i, untilNext end
  end
end
if refusing > 0 then return {refusing, 0, wait} end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, 'NX', now, ARGV[2])
  redis.call('PEXPIRE', key, ARGV[1])
end
return {0, math.max(0, remaining), tonumber(ARGV[1])}
