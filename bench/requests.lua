-- What wrk sends besides plain GETs, by BENCH_LOAD: post (16 KiB), or routes (all of
-- 1,000 hosts x 10 paths in a scattered order). At the end it prints the number of
-- answers and of errors.
local load = os.getenv("BENCH_LOAD")

if load == "post" then
  wrk.method = "POST"
  wrk.body = string.rep("x", 16384)
elseif load == "routes" then
  local all, at = {}, 0
  function init()
    for host = 0, 999 do
      for path = 0, 9 do
        all[#all + 1] = wrk.format("GET", "/p" .. path .. "/x", { Host = "h" .. host .. ".test" })
      end
    end
  end
  function request()
    at = (at + 7919) % #all -- a prime, so that every request comes by
    return all[at + 1]
  end
end

function done(summary)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  print("answers " .. summary.requests - e.status .. " " .. failed)
end
