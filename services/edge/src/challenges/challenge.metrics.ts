import { Counter, type Registry, startAtZero } from "@parley/service-kit";

export type ChallengeMetrics = ReturnType<typeof createChallengeMetrics>;

export function createChallengeMetrics(registry: Registry) {
  const registers = [registry];
  const metrics = {
    challenges: new Counter({
      name: "parley_challenges_total",
      help: "Challenges by result. asked: a challenge was sent. solved: a solution bought a pass. malformed, expired, signature (another key, session or address, or forged), solution (wrong) and used (a second time): a solution was refused.",
      labelNames: ["result"],
      registers,
    }),
    passes: new Counter({
      name: "parley_challenge_passes_total",
      help: "Messages that needed a pass, by result. accepted: the pass was valid. missing, invalid (another key, session or address, or forged), expired and used-up: the message was refused with a challenge.",
      labelNames: ["result"],
      registers,
    }),
  };
  startAtZero(metrics.challenges, {
    result: ["asked", "solved", "malformed", "expired", "signature", "solution", "used"],
  });
  startAtZero(metrics.passes, { result: ["accepted", "missing", "invalid", "expired", "used-up"] });
  return metrics;
}
