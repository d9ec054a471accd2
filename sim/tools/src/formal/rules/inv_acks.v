// Groups of lines of which invalidations are not acknowledged, and how many: a group for each pending row of
// the slice at most.
reg [8*64-1:0] weft_groups = 0;
reg [8*8-1:0] weft_counts = 0;
wire [63:0] weft_sent = inv_line >> $clog2({g});
wire [63:0] weft_named = ack_data[$bits(inv_line)-1:0] >> $clog2({g});
reg [7:0] weft_of_sent, weft_of_named, weft_free, weft_row;
reg [7:0] weft_dests;
reg weft_used;
integer weft_i;
always @* begin
    weft_of_sent = 0;
    weft_of_named = 0;
    weft_free = 0;
    weft_dests = 0;
    weft_used = 0;
    for (weft_i = 0; weft_i < $bits(inv_dest); weft_i = weft_i + 1)
        weft_dests = weft_dests + inv_dest[weft_i];
    for (weft_i = 0; weft_i < 8; weft_i = weft_i + 1) begin
        weft_used = weft_counts[8 * weft_i +: 8] != 0;
        weft_of_sent[weft_i] = weft_used && weft_groups[64 * weft_i +: 64] == weft_sent;
        weft_of_named[weft_i] = weft_used && weft_groups[64 * weft_i +: 64] == weft_named;
        weft_free[weft_i] = !weft_used && weft_free == 0;
    end
    weft_row = weft_of_sent != 0 ? weft_of_sent : weft_free;
end
wire weft_acked = weft_of_named != 0;
always @(posedge clk) if (weft_run)
    for (weft_i = 0; weft_i < 8; weft_i = weft_i + 1) begin
        weft_counts[8 * weft_i +: 8] <= weft_counts[8 * weft_i +: 8]
            + (inv_valid && inv_ready && weft_row[weft_i] ? weft_dests : 8'd0)
            - (ack_valid && ack_ready && weft_of_named[weft_i]);
        if (inv_valid && inv_ready && weft_row[weft_i]) weft_groups[64 * weft_i +: 64] <= weft_sent;
    end
