//! What must hold of groups in peace, and when all is over.

use super::{Book, Groups, Marks, Reset, Tp};
use crate::check::Logs;

impl Groups {
    /// Why a partition is not read to its end; `None` when it is.
    pub(crate) fn behind(&self, client: u32, tp: &Tp, now: Marks) -> Option<String> {
        let member = self.members.get(&client)?;
        let own = member.owned.get(tp)?;
        let text = || {
            let reported = own.next.map_or("nowhere yet".into(), |at| at.to_string());
            format!("client {client} stands at {reported} of {} [{}], {now:?}", tp.0, tp.1)
        };
        match own.next {
            Some(at) => (at < now.end).then(text),
            None if now.end == now.start || member.reset == Reset::Latest => None,
            // It may stand where the log was cut, and that may be its end.
            None if self.truncations.exist(tp) => None,
            // Without a record or an end of partition nothing is known of where it stands.
            None => {
                let book = self.books.get(&(member.group.clone(), tp.clone()));
                let done = book.is_some_and(|b| b.done.first_gap(now.end - 1, now.end).is_none());
                // What was committed for a topic of the same name that was deleted may be just where this one ends, or
                // beyond, where its log seems to have been cut.
                let recreated = self.recreated.contains(&tp.0);
                let ends = |at: &Option<i64>| at.is_some_and(|at| at == now.end || recreated && at > now.end);
                let at_end = book.is_some_and(|b| b.committed_since(own.since_us).iter().any(ends));
                (!done && !at_end).then(text)
            }
        }
    }

    /// Compares what was read with what is there, and looks whether everything that must have been read was.
    pub(crate) fn compare_with_logs(&self, logs: &Logs) -> Result<(), String> {
        for ((group, tp), book) in &self.books {
            let Some(log) = logs.get(tp).filter(|_| !self.recreated.contains(&tp.0)) else {
                continue;
            };
            for (offset, id) in book.seen.iter().filter(|(offset, _)| **offset >= log.start) {
                let there = log.at(*offset).map(|there| there.found.id);
                if there != Some(*id) {
                    return Err(format!(
                        "{group} read {id:?} at {tp:?} @ {offset}, where {there:?} lies"
                    ));
                }
            }
            self.check_left_out(group, tp, book)?;
        }
        Ok(())
    }

    /// Nothing before what was handed out was handed to nobody, unless `auto.offset.reset` or retention has it so.
    fn check_left_out(&self, group: &str, tp: &Tp, book: &Book) -> Result<(), String> {
        let mut members = self.members.values();
        let skips = members.any(|m| m.group == group && m.reset == Reset::Latest);
        let Some(last) = book.seen.keys().next_back().filter(|_| !skips && !self.retention) else {
            return Ok(());
        };
        match (0..=*last).find(|offset| !book.seen.contains_key(offset)) {
            Some(gap) => Err(format!("{group} never read {tp:?} @ {gap}, and has read {last}")),
            None => Ok(()),
        }
    }
}
