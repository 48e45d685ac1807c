// Scripts of the dashboard and of the search page; both work without them.

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

// Keys of the search page: `/` goes to the query, `j` and `k` to the next and previous result.
const query = document.getElementById("q");
if (query) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const results = [...document.querySelectorAll(".hit h3 a")];
    const current = results.indexOf(document.activeElement);
    const steps = { j: 1, k: -1 };
    if (event.key === "/") {
      query.focus();
      query.select();
    } else if (steps[event.key] && results.length > 0) {
      results[Math.min(Math.max(current + steps[event.key], 0), results.length - 1)].focus();
    } else {
      return;
    }
    event.preventDefault();
  });
}
