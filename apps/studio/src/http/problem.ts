import { isVdError } from "@vd/kernels-native";
import type { FastifyError } from "fastify";
import { isNoRoom, NO_ROOM } from "../files/no-room";
import { FetchError } from "../inputs/safe-fetch";
import { IdempotencyError, LimitError } from "../queue/video-queue";
import { WorkError } from "../workers/worker-process";

/** An answer that something is wrong, as RFC 9457 has it, with the same in OpenAI's shape for its clients. */
export interface ProblemBody {
  type: "about:blank";
  title: string;
  status: number;
  /** A sentence for people. */
  detail: string;
  code: string;
  errors?: { field: string; detail: string }[];
  error: { message: string; type: string; param: string | null; code: string };
}

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad request",
  401: "No key",
  403: "Forbidden",
  404: "Not found",
  408: "Too slow",
  409: "Not ready",
  413: "Too large",
  415: "Unknown type",
  422: "Cannot be processed",
  426: "Upgrade required",
  429: "Too many",
  431: "Too large",
  500: "Internal error",
  503: "Unavailable",
  507: "No room",
};

/** A refusal that the API answers with. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly field?: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
  }

  /** The body of the answer. */
  body(): ProblemBody {
    const { status, code, message: detail, field } = this;
    const kind = status === 401 ? "authentication_error" : status === 429 ? "rate_limit_error" : undefined;
    return {
      ...{ type: "about:blank", title: TITLES[status] ?? "Error", status, detail, code },
      ...(field !== undefined && { errors: [{ field, detail }] }),
      error: {
        message: detail,
        type: kind ?? (status < 500 ? "invalid_request_error" : "server_error"),
        param: field ?? null,
        code,
      },
    };
  }
}

/** Statuses of errors that speak of what a client sent; all others are ours. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  attr: 400,
  shape: 400,
  dtype: 400,
  io: 422,
  memory: 422,
  unsupported: 422,
};

/** Our names for what the HTTP library refuses: clients see none of its own. */
const CODES: Readonly<Record<string, string>> = { FST_ERR_VALIDATION: "attr" };
const CODE_OF_STATUS: Readonly<Record<number, string>> = {
  403: "forbidden",
  404: "not_found",
  413: "too_large",
  415: "unknown_type",
  429: "too_many_requests",
};

/** A field's name from who complains; `[steps] expected …`. */
const fieldOf = (where: string): string | undefined => (/^[a-zA-Z_]\w*$/.test(where) ? where : undefined);

/** Makes a refusal of any error. What is not meant for clients stays out of it. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof LimitError)
    return new Problem(429, "too_many_videos", error.message, undefined, { "retry-after": "10" });
  if (error instanceof IdempotencyError) return new Problem(422, "idempotency_key_reused", error.message);
  if (error instanceof FetchError) return new Problem(422, "image_not_fetched", error.message, "image");
  if (error instanceof WorkError) return ofWork(error);
  if (isNoRoom(error)) return new Problem(507, NO_ROOM.code, NO_ROOM.message);
  if (isVdError(error))
    return new Problem(STATUS_OF_CODE[error.code] ?? 500, error.code, error.message, fieldOf(error.where));
  const { statusCode, message, code } = error as FastifyError;
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return new Problem(statusCode, CODES[code] ?? CODE_OF_STATUS[statusCode] ?? "bad_request", message);
  return new Problem(500, "internal", "Something went wrong inside the server; its log says what.");
}

function ofWork({ failure: { code, message } }: WorkError): Problem {
  return new Problem(STATUS_OF_CODE[code] ?? 500, code, message);
}
