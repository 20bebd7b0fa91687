import { useQuery } from "@tanstack/react-query";

/**
 * Loads a component that the first screen does not need, whose size is limited. If that fails, the page stays as it is, and `refetch` tries again.
 * With React.lazy, an error page would replace the whole console, and what was typed would be lost.
 */
export function useCode<Component>(name: string, load: () => Promise<Component>) {
  return useQuery({
    queryKey: ["code", name],
    queryFn: load,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
}
