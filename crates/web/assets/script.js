// Polls the live panel of the dashboard. Without scripts the page reloads itself instead.
const live = document.getElementById("live");
const announcement = document.getElementById("announcement");
const POLL_TIMEOUT_MS = 10000;
if (live) {
  const poll = async () => {
    if (!document.hidden) {
      try {
        const response = await fetch("/dashboard/live", { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) });
        if (response.ok) {
          live.innerHTML = await response.text();
          const state = live.querySelector(".state");
          // Screen readers announce changes of the state, not of every number.
          if (state && announcement.textContent !== state.textContent) announcement.textContent = state.textContent;
        }
      } catch {
        const state = live.querySelector(".state");
        if (state) {
          state.dataset.state = "none";
          state.textContent = "No response from the server";
        }
      }
    }
    setTimeout(poll, Number(live.dataset.intervalMs));
  };
  setTimeout(poll, Number(live.dataset.intervalMs));
}
