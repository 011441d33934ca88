// A run in a few sentences: the worker that held the others up, and the gain of a better split. Pure.
#pragma once

#include "app/report/page/document.h"
#include "app/report/run/finding.h"

namespace steelyard {

// Paragraphs: the first is the sentence that matters most.
std::vector<Json> finding_blocks(const ReportedRun& run, const Finding& finding);

// Each worker's share in the worst stretch, and its better share; null without a better split.
Json better_block(const RunRecord& record, const Finding& finding);

// The stretches in which the others waited for one worker, the longest waits first; null if there are fewer
// than two that are worth a row.
Json stretches_block(const RunRecord& record, const Finding& finding);

}  // namespace steelyard
