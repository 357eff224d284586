import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { useHashLocation } from "wouter/use-hash-location";
import { ApiError } from "./api/client";
import { App } from "./app";
import { DraftProvider } from "./state/draft";
import { NoticeProvider } from "./state/notices";
import "./style/base.css";

const MAX_RETRIES = 3;
const FIRST_SERVER_FAULT = 500;

/** What the server refused it will refuse again; what did not reach it may reach it later. */
const retry = (count: number, error: Error): boolean =>
  count < MAX_RETRIES && (!(error instanceof ApiError) || error.status === 0 || error.status >= FIRST_SERVER_FAULT);

const client = new QueryClient({ defaultOptions: { queries: { retry, refetchOnWindowFocus: false } } });

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <NoticeProvider>
        <DraftProvider>
          {/* Addresses after # need nothing of the server, wherever the page lies. */}
          <Router hook={useHashLocation}>
            <App />
          </Router>
        </DraftProvider>
      </NoticeProvider>
    </QueryClientProvider>
  </StrictMode>,
);
