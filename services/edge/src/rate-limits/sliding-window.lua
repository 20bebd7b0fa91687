-- A sliding log, exact in any window: one sorted-set member per request, scored by Redis's clock in microseconds. A request counts in each of
-- its buckets if every one of them allows it, and in none otherwise.
-- KEYS: the buckets. ARGV[1]: the request's id, which counts once in a bucket. ARGV[2…]: of each bucket, the limit and the window in milliseconds.
-- Returns {number of the refusing bucket or 0, remaining, milliseconds until all requests have left the windows or, after a refusal, until the
-- next request is allowed}.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local id = ARGV[1]
local refusing, remaining, wait, longest = 0, math.huge, 0, 0
for i, key in ipairs(KEYS) do
  local limit, windowMs = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local window = windowMs * 1000
  longest = math.max(longest, windowMs)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
  local over = redis.call('ZCARD', key) - limit
  remaining = math.min(remaining, -over - 1)
  if over >= 0 and not redis.call('ZSCORE', key, id) then
    -- If the limit was lowered, more than the oldest request must leave the window.
    local leaving = redis.call('ZRANGE', key, over, over, 'WITHSCORES')
    local untilNext = math.ceil((leaving[2] + window - now) / 1000)
    if untilNext > wait then refusing, wait = i, untilNext end
  end
end
if refusing > 0 then return {refusing, 0, wait} end
for i, key in ipairs(KEYS) do
  redis.call('ZADD', key, 'NX', now, id)
  redis.call('PEXPIRE', key, ARGV[2 * i + 1])
end
return {0, math.max(0, remaining), longest}
