import {
  AttemptTimer,
  type BreakerVerdict,
  failureFromSetting,
  GenerationCancelled,
  ProviderFailure,
  type StopCause,
  type TextSink,
} from "../providers/index.ts";
import {
  findContextWindow,
  findKnownProblem,
  readModelSettings,
  resolveSampling,
  type Sampling,
  type SamplingProblem,
} from "../settings/index.ts";
import { hasVisibleText } from "../text.ts";
import type { ToolRound } from "../tools/index.ts";
import type { AttemptRequest, AttemptResult, AttemptTimes, Completion } from "./attempt-result.ts";
import type { Citation, CitedText } from "./citations.ts";
import { fitPrompt } from "./fit-prompt.ts";
import { NoAnswerMark } from "./no-answer-mark.ts";
import { endProviderSpan, openProviderSpan } from "./provider-span.ts";
import { redactFailure } from "./redact-failure.ts";

/** Longer than any real completion. Bounds the memory if a provider never ends its completion. */
const MAX_COMPLETION_CHARACTERS = 4 * 1024 * 1024;

export type AttemptOptions = {
  signal: AbortSignal;
  /** A monotonic clock, in milliseconds. */
  now: () => number;
  onText: TextSink;
  /** Called when the model cites a passage for the first time, before `onText`. */
  onCitation: (citation: Citation) => void;
  /** Called once if the model thinks before its text. */
  onThoughts: () => void;
  /** Called after all text was passed to `onText`. Only token counts may follow. */
  onTextComplete: (stopCause: StopCause) => void;
  /** Called before the first text is passed to `onText`. */
  onFirstText: (times: AttemptTimes) => void;
};

const EMPTY_COMPLETION: Completion = {
  text: "",
  usage: undefined,
  isFinished: false,
  stopCause: "stop",
  finishReason: "",
  toolRequests: [],
  assistantMessage: undefined,
};

/**
 * Sends one request to a provider, under the provider's concurrency limit, circuit breaker and timeouts. Passes the text on as it arrives.
 * Returns a failure in the result instead of throwing it, so that the tokens before the failure are counted.
 */
export async function runAttempt(unfitted: AttemptRequest, options: AttemptOptions): Promise<AttemptResult> {
  const request = fitRequest(unfitted);
  const { signal, now } = options;
  const { breaker, concurrency } = request.candidate.guardedProvider;
  const startedAtMs = now();
  const createNotSentResult = (error: unknown): AttemptResult => {
    const endedAtMs = now();
    const times = { startedAtMs, queueMs: endedAtMs - startedAtMs, firstTextAtMs: undefined, endedAtMs };
    return { request, isSent: false, ...times, completion: EMPTY_COMPLETION, failure: toFailure(error) };
  };
  const problem = findSettingProblem(request);
  if (problem !== undefined) return createNotSentResult(redactFailure(failureFromSetting(problem), request, ""));
  let release: () => void;
  try {
    release = await concurrency.acquire(request.workspaceId, signal);
  } catch (error) {
    return createNotSentResult(error);
  }
  const reportVerdict = breaker.admit();
  if (reportVerdict === undefined) {
    release();
    return createNotSentResult(new ProviderFailure("provider_error", "breaker_open"));
  }
  const times = { startedAtMs, queueMs: now() - startedAtMs };
  const { firstTextAtMs, completion, failure } = await streamCompletion(request, times, {
    ...options,
    onFirstText: (firstTextTimes) => {
      // Report at the first text: the provider is up, even if the completion fails later. The end may be minutes away, and until then the breaker
      // would stay half-open.
      reportVerdict("ok");
      options.onFirstText(firstTextTimes);
    },
  });
  if (firstTextAtMs === undefined) reportVerdict(toBreakerVerdict(failure, signal));
  release();
  return { request, isSent: true, ...times, firstTextAtMs, endedAtMs: now(), completion, failure };
}

/** Shortens the request if it would not fit into the model's context window. */
function fitRequest(request: AttemptRequest): AttemptRequest {
  const { settings } = request.candidate.guardedProvider;
  const tokens = findContextWindow(settings, request.candidate.name);
  if (settings.kind === "builtin" || tokens === undefined) return request;
  return { ...request, ...fitPrompt(request, { tokens, outputTokens: samplingOf(request).maxOutputTokens }) };
}

/** Returns the settings of the provider and the bot that apply to the request. */
function samplingOf({ candidate, prompt }: AttemptRequest): Sampling {
  const { settings } = candidate.guardedProvider;
  return settings.kind === "builtin" ? {} : resolveSampling(settings.sampling, readModelSettings(prompt.settings));
}

/** Checks the bot's settings again, because the model of a route or the default model may have changed since they were stored. */
function findSettingProblem(request: AttemptRequest): SamplingProblem | undefined {
  const { settings } = request.candidate.guardedProvider;
  if (request.prompt.settings === undefined || settings.kind === "builtin") return undefined;
  return findKnownProblem(settings, request.candidate.name, samplingOf(request));
}

type CompletionResult = Pick<AttemptResult, "firstTextAtMs" | "completion" | "failure">;

async function streamCompletion(
  request: AttemptRequest,
  times: AttemptTimes,
  options: AttemptOptions,
): Promise<CompletionResult> {
  const { candidate, prompt, tools, mustAnswerWithoutTools, toolRounds, citations, deadlineAtMs } = request;
  const { timeouts } = candidate.guardedProvider.settings;
  const { signal, now, onText, onCitation, onThoughts, onFirstText, onTextComplete } = options;
  const span = openProviderSpan(request);
  // Computed after the wait for a slot, which counts against the deadline but not against the provider's total timeout.
  const totalMs = Math.max(1, Math.min(timeouts.totalMs, deadlineAtMs - now()));
  const attemptTimer = new AttemptTimer({ ...timeouts, totalMs }, signal);
  const noAnswerMark = new NoAnswerMark();
  let completion = EMPTY_COMPLETION;
  let text = "";
  let firstTextAtMs: number | undefined;
  let isTextComplete = false;
  let hasThoughts = false;
  let failure: AttemptResult["failure"];
  const sendCited = (cited: CitedText) => {
    cited.citations.forEach(onCitation);
    return cited.text === "" ? undefined : onText(cited.text);
  };
  const passOn = (piece: string) => {
    if (piece === "") return undefined;
    if (firstTextAtMs === undefined) {
      firstTextAtMs = now();
      onFirstText(times);
    }
    text += piece;
    if (text.length > MAX_COMPLETION_CHARACTERS) throw new ProviderFailure("provider_error", "too_large");
    const backpressure = citations === undefined ? onText(piece) : sendCited(citations.push(piece, prompt.passages));
    if (backpressure === undefined) attemptTimer.resume();
    else attemptTimer.pause();
    return backpressure?.then(() => attemptTimer.resume());
  };
  try {
    await candidate.guardedProvider.provider.stream({
      model: candidate.name,
      prompt,
      tools,
      mustAnswerWithoutTools,
      toolRounds,
      sampling: samplingOf(request),
      signal: attemptTimer.signal,
      onText: (delta) => {
        attemptTimer.signal.throwIfAborted();
        return passOn(noAnswerMark.push(delta));
      },
      onSignOfLife: () => attemptTimer.recordSignOfLife(),
      onThoughts: () => {
        if (!hasThoughts && text === "") onThoughts();
        hasThoughts = true;
      },
      onFinished: (finished) => {
        if (!completion.isFinished) attemptTimer.finish();
        void passOn(noAnswerMark.end());
        if (citations !== undefined) void sendCited(citations.end(prompt.passages));
        const toolRequests = tools.length > 0 ? finished.toolRequests : [];
        completion = { ...completion, isFinished: true, assistantMessage: undefined, ...finished, toolRequests };
        if (noAnswerMark.isFound && completion.stopCause === "stop")
          completion = { ...completion, stopCause: "declined" };
      },
      onTextComplete: () => {
        if (isTextComplete || attemptTimer.signal.aborted) return;
        isTextComplete = true;
        onTextComplete(completion.stopCause);
      },
      onUsage: (usage) => {
        completion = { ...completion, usage };
      },
    });
    if (!completion.isFinished) throw new ProviderFailure("provider_error", "truncated", { isProviderFault: true });
  } catch (error) {
    // If the generation was aborted, the attempt fails, unless its text was already complete.
    if (signal.aborted && !isTextComplete) failure = toFailure(signal.reason);
    // Other failures after the model has finished are ignored: the text has arrived, and only the token counts may be missing.
    else if (!completion.isFinished)
      failure = toFailure(attemptTimer.signal.aborted ? attemptTimer.signal.reason : error);
  }
  attemptTimer.stop();
  if (failure === undefined && !isAnswer({ ...completion, text }, toolRounds))
    failure = new ProviderFailure("provider_error", "no_text", { detail: completion.finishReason });
  if (failure instanceof ProviderFailure) failure = redactFailure(failure, request, text);
  endProviderSpan(span, completion, failure);
  return { firstTextAtMs, completion: { ...completion, text }, failure };
}

/** Whether a completion has text, calls tools or is a refusal. The text may also have come before the calls of an earlier round. */
function isAnswer({ text, toolRequests, stopCause }: Completion, toolRounds: readonly ToolRound[]): boolean {
  if (toolRequests.length > 0 || stopCause === "refusal") return true;
  return hasVisibleText(text) || toolRounds.some((round) => hasVisibleText(round.text));
}

function toFailure(error: unknown): ProviderFailure | GenerationCancelled {
  if (error instanceof ProviderFailure || error instanceof GenerationCancelled) return error;
  return new ProviderFailure("provider_error", "internal", { cause: error });
}

/** Returns the verdict of an attempt that ended without text. */
function toBreakerVerdict(failure: AttemptResult["failure"], signal: AbortSignal): BreakerVerdict {
  if (failure === undefined) return "ok";
  if (signal.aborted) return "neutral";
  return failure instanceof ProviderFailure && failure.isProviderFault ? "fault" : "ok";
}
