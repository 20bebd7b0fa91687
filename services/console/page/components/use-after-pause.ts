import { useEffect, useState } from "react";

/** Returns the latest value that has stayed the same for `pauseMs`. */
export function useAfterPause(value: string, pauseMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [value, pauseMs]);
  return settled;
}
