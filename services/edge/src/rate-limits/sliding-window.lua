-- A sliding log, exact in any window: one sorted-set member per request, scored by Redis's clock in microseconds. A request counts in each of
-- its buckets if every one of them allows it, and in none otherwise.
-- KEYS: the buckets. ARGV[1]: window in milliseconds. ARGV[2]: a member unique to the request. ARGV[3…]: the limit of each bucket.
-- Returns {number of the refusing bucket or 0, remaining, milliseconds until all requests have left the window or, after a refusal, until the
-- next request is allowed}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local window = ARGV[1] * 1000
local refusing, remaining, wait = 0, math.huge, 0
for i, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  local left = ARGV[i + 2] - redis.call('ZCARD', key)
  remaining = math.min(remaining, left - 1)
  if left <= 0 then
    local oldest = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    local untilNext = math.ceil((oldest[2] + window - now) / 1000)
    if untilNext > wait then refusing, wait = i, untilNext end
  end
end
if refusing > 0 then return {refusing, 0, wait} end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now, ARGV[2])
  redis.call('PEXPIRE', key, ARGV[1])
end
return {0, remaining, tonumber(ARGV[1])}
